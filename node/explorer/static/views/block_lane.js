// The timer lane of a block: each due timer, what it was judged by, and the cut.
//
// What stands here was recorded when it was decided; each set of rules has its measure:
// the order of acceptance under `fifo`, priority × weight under `auction`, the effective
// tip under `bidding`, the score under `globalbox`.

import {html, useState} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {big, compact, counted, grouped, hex, isFailed, isZero, number, percent} from '../lib/format.js';
import {
  Address, Amount, Answer, Badge, Card, Decision, Empty, Failure, Height, KeyValues, Table, Text, TimerId, TransactionId,
} from '../lib/parts.js';
import {linkTo} from '../views.js';

const PAGE = 200;
const PPM = 1_000_000;
const BID_BITS = 96n;
const BAR_WIDTH = 160;
const TURNS = new Set(['materialized', 'put_back', 'passed_over']);

export function Lane({height, hash, receipts = []}) {
  const [pages, setPages] = useState([]);
  const [problem, setProblem] = useState(null);
  const answer = useAnswer((signal) => page(height, '', signal), ['explain', height, hash]);
  const more = (token) => page(height, token).then((next) => setPages([...pages, next]), setProblem);
  return html`<${Answer} answer=${answer} what="why">${(first) => {
    const all = [first, ...pages];
    const timers = all.flatMap((part) => part.timers ?? []);
    const due = timers.filter(({isDue}) => isDue);
    const changes = timers.filter(({isDue}) => !isDue);
    const token = all.at(-1).nextPageToken;
    return html`
      <${Card} title="The timer lane" aside=${counted(first.dueCount ?? 0, 'decision')}>
        ${due.length ? html`<${Due} due=${due} told=${first} receipts=${receipts} />`
          : html`<${Empty}>No timer was due in this block. <a
              href=${linkTo('calendar', '', {at: height})}>When the next ones are due</a><//>`}
        ${token && html`<p class="note">${grouped(timers.length)} of ${grouped(big(first.dueCount) + big(first.changeCount))} decisions.
          ${' '}<button onClick=${() => more(token)}>Show more</button></p>`}
        ${problem && html`<${Failure} error=${problem} />`}
        ${first.text && html`<details><summary>In sentences</summary><${Text} value=${first.text} letters=${4000} /></details>`}
      <//>
      ${changes.length > 0 && html`<${Changes} changes=${changes} count=${first.changeCount} />`}`;
  }}<//>`;
}

const page = (height, pageToken, signal) =>
  ask('TimerService/ExplainBlock', {height, pageSize: PAGE, pageToken}, signal);

// --- what was due ---

function Due({due, told, receipts}) {
  const rows = told.turns ? byTimer(due) : due.map((timer) => ({timer, last: timer.decision, story: [timer.decision]}));
  const measure = measureOf(due, told);
  const greatest = Math.max(...rows.map(({story}) => measure.value(numbersOf(story)) ?? 0), 0);
  const cut = cutOf(rows);
  return html`
    <${Contest} told=${told} measure=${measure} />
    <${Strip} rows=${rows} />
    <div class="scroll" role="region" aria-label="Due timers, in the order in which they were looked at" tabindex="0"><table class="lane">
      <caption class="unseen">Due timers, in the order in which they were looked at</caption>
      <thead><tr><th scope="col" class="right">#</th><th scope="col">timer</th><th scope="col">actor</th>
        <th scope="col">decision</th><th scope="col">${measure.title}</th>
        <th scope="col" class="right">cycles</th><th scope="col" class="right">of at most</th><th scope="col" class="right">fee</th></tr></thead>
      <tbody>${rows.map((row, index) => html`
        ${index === cut && html`<tr class="cut" key="cut"><td colspan="8">${cutText(row.last)}</td></tr>`}
        <${Row} key=${`${row.timer.timerId}${index}`} row=${row} index=${index} measure=${measure} greatest=${greatest}
          receipt=${receipts.find(({index: at}) => (at ?? 0) === row.last.receiptIndex && row.last.decision === 'fired')} />`)}
      </tbody></table></div>`;
}

const numbersOf = (story) => Object.assign({}, ...story.map(({numbers}) => numbers));

// Under `globalbox` a block decides several things about one timer: they are one row,
// which stands where its turn came, and behind those if none did.
function byTimer(due) {
  const rows = new Map();
  for (const [index, timer] of due.entries()) {
    const {decision} = timer;
    const row = rows.get(timer.timerId) ?? {timer, story: [], turn: due.length};
    row.story.push(decision);
    row.last = decision;
    if (TURNS.has(decision.decision)) row.turn = Math.min(row.turn, index);
    rows.set(timer.timerId, row);
  }
  return [...rows.values()].sort((one, other) => one.turn - other.turn);
}

// Where the lane was full: the first row that found no room after one that did.
function cutOf(rows) {
  const isFull = ({last: {decision, reason}}) =>
    (decision === 'put_off' && reason === 'lane') || (decision === 'put_back' && reason === 'lane') || decision === 'passed_over';
  const index = rows.findIndex(isFull);
  return index > 0 || (index === 0 && rows.length > 1) ? index : -1;
}

function cutText({decision, numbers = {}}) {
  if (decision === 'passed_over') return 'From here on targets had their share of fires in this block';
  const used = numbers.used ?? numbers.reserved;
  return `The lane was full from here on: ${grouped(used ?? 0)} of ${grouped(numbers.lane ?? 0)} cycles taken`;
}

function measureOf(due, {turns, contest}) {
  if (turns) return SCORE;
  if (contest?.basefeeCycle !== undefined && due.some(({decision}) => decision.numbers?.effective_tip)) return TIP;
  return contest ? PRIORITY : ORDER;
}

const times = (ppm) => grouped((number(ppm) / PPM).toFixed(2).replace(/\.?0+$/, ''));

const PRIORITY = {
  title: 'priority × weight',
  value: ({effective_priority: value}) => (value === undefined ? null : number(value) / PPM),
  text: (n) => html`${grouped(n.priority)} × ${times(n.weight_ppm)} = <b>${times(n.effective_priority)}</b>`,
};

const TIP = {
  title: 'effective tip; then weight × wait',
  value: ({effective_tip: value}) => (value === undefined ? null : number(value)),
  text: (n) => html`<b>${grouped(n.effective_tip)}</b>; ${times(n.weight_ppm)} × ${number(n.waited) + 1}, round ${n.round}, slice ${percent(n.actor_used, n.slice)} used`,
};

const SCORE = {
  title: 'score; bid a cycle',
  value: ({score, bid_fp: bid}) => (score ?? bid) === undefined ? null : Number(big(score ?? bid) >> (BID_BITS - 10n)) / 1024,
  text: (n) => html`${n.score !== undefined && html`<b>${compact(Number(big(n.score) >> (BID_BITS - 10n)) / 1024)}</b>; `}${
    n.bid_fp !== undefined && html`bid ${grouped(big(n.bid_fp) >> BID_BITS)}`}`,
};

const ORDER = {
  title: 'order of acceptance',
  value: () => null,
  text: (n) => (n.sequence === undefined ? '' : html`number <b>${grouped(n.sequence)}</b>`),
};

function Row({row: {timer, last, story}, index, measure, greatest, receipt}) {
  const numbers = numbersOf(story);
  const value = measure.value(numbers);
  const isLost = last.decision !== 'fired';
  return html`<tr class=${isLost ? 'out' : ''}>
    <td class="right">${numbers.rank === undefined ? index + 1 : grouped(numbers.rank)}</td>
    <td><${TimerId} value=${timer.timerId} /></td>
    <td><${Address} value=${timer.actor} /></td>
    <td><${Decision} of=${last.decision} reason=${last.reason} />${
      isFailed(receipt) && html` <${Badge} kind="failed">failed<//>`}${
      story.length > 1 && html`<div class="muted small">${story.map(({decision}) => decision.replaceAll('_', ' ')).join(' → ')}</div>`}</td>
    <td>${value !== null && greatest > 0 && html`<${Bar} value=${value} greatest=${greatest} isOut=${isLost} />`}<span class="small">${
      value !== null || measure === ORDER ? measure.text(numbers) : html`<span class="muted">${whyNot(last)}</span>`}</span></td>
    <td class="right">${numbers.cycles_used === undefined ? '' : grouped(numbers.cycles_used)}</td>
    <td class="right">${numbers.limit === undefined ? '' : grouped(numbers.limit)}</td>
    <td class="right">${receipt && html`<${Amount} units=${receipt.fee} />`}</td>
  </tr>`;
}

const Bar = ({value, greatest, isOut}) => html`<svg class=${`bar ${isOut ? 'late' : 'fired'}`} width=${BAR_WIDTH} height="8" aria-hidden="true">
  <rect class="rest" width=${BAR_WIDTH} height="8" rx="3" /><rect class="part" width=${Math.max(1, (BAR_WIDTH * value) / greatest)} height="8" rx="3" /></svg>`;

// The numbers that kept it from a turn.
const whyNot = ({numbers = {}}) =>
  ['max_fee', 'basefee_lane', 'basefee_cycle', 'required', 'available', 'cap', 'expires_at']
    .filter((name) => numbers[name] !== undefined)
    .map((name) => `${name.replaceAll('_', ' ')} ${grouped(numbers[name])}`)
    .join(', ');

// --- the lane as a whole ---

function Contest({told: {contest, turns, dueCount}, measure}) {
  if (turns) {
    return html`<${KeyValues} rows=${[
      ['hits of watches', grouped(turns.hits ?? 0)], ['queued', grouped(turns.enqueued ?? 0)],
      ['materialized', grouped(turns.materialized ?? 0)], ['kept their places', grouped(turns.putBack ?? 0)],
      ['targets passed over', grouped(turns.passedOver ?? 0)], ['taken out', number(turns.returned) ? grouped(turns.returned) : null],
    ]} />`;
  }
  if (!contest) return null;
  const shown = (text) => (measure === PRIORITY || measure === TIP ? times(text) : grouped(text));
  return html`<${KeyValues} rows=${[
    ['contenders', grouped(contest.contenders ?? 0)],
    ['fired', grouped(contest.fires ?? 0)],
    ['put off for room', grouped(contest.putOff ?? 0)],
    [measure === TIP ? 'highest tip' : 'highest priority', contest.highestPriority && shown(contest.highestPriority)],
    ['price of the last place', contest.marginalPriority ? shown(contest.marginalPriority) : 'there was room'],
    ['basefee of the lane', number(contest.basefeeLane) ? grouped(contest.basefeeLane) : null],
  ]} />`;
}

// The lane from left to right: each fire by the cycles that it used.
function Strip({rows}) {
  const fires = rows.map(({timer, story}) => ({timer, ...numbersOf(story)})).filter(({cycles_used: used}) => used !== undefined);
  const whole = Math.max(...fires.map(({lane}) => number(lane)), 0);
  if (!fires.length || !whole) return null;
  let at = 0;
  const parts = fires.map((fire) => {
    const from = at;
    at += number(fire.cycles_used);
    return {fire, from, used: number(fire.cycles_used)};
  });
  const share = (cycles) => `${((100 * cycles) / whole).toFixed(3)}%`;
  const said = `${counted(fires.length, 'fire')} used ${grouped(at)} of ${grouped(whole)} cycles, ${percent(at, whole)}`;
  return html`<figure class="strip-of-lane">
    <svg width="100%" height="26" role="img" aria-label=${said}>
      <rect class="rest" width="100%" height="26" rx="4" />
      ${parts.map(({fire, from, used}, index) => html`<rect key=${index} class=${`fire shade${shadeOf(fire.timer.actor)}`} x=${share(from)} y="0"
        width=${share(used)} height="26"><title>${`${hex(fire.timer.timerId).slice(0, 12)}…: ${grouped(used)} cycles`}</title></rect>`)}
    </svg>
    <figcaption class="muted small">${said}, in this order; each actor has its shade.</figcaption>
  </figure>`;
}

const shadeOf = (actor) => [...actor].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 6, 0);

// --- what executions changed ---

const Changes = ({changes, count}) => html`
  <${Card} title="What executions scheduled and changed" aside=${counted(count ?? changes.length, 'change')}>
    <${Table} caption="Timers that executions scheduled, extended or cancelled" rows=${changes} columns=${[
      {title: 'timer', of: ({timerId}) => html`<${TimerId} value=${timerId} />`},
      {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
      {title: 'change', of: ({decision}) => html`<${Decision} of=${decision.decision} reason=${decision.reason} />`},
      {title: 'due at', isNumber: true, of: ({dueHeight}) => html`<${Height} of=${dueHeight} />`},
      {title: 'by', of: ({decision}) => (decision.origin && !isZero(decision.origin)
        ? html`<${TransactionId} value=${decision.origin} />` : html`<span class="muted">a fire</span>`)},
      {title: 'most cycles', isNumber: true, of: ({decision}) => grouped(decision.numbers?.gas_limit ?? '')},
    ]} /><//>`;
