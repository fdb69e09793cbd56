// A timer: its life as a line, what awaits it, what stands before it, and what its fire
// did.

import {html, useState} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {big, cby, counted, enumText, fromHex, grouped, isFailed, number, visible} from '../lib/format.js';
import {Life, Room, fixedText, ppmText} from '../lib/life.js';
import {useLive} from '../lib/live.js';
import {
  Address, Amount, Answer, Badge, Card, Copy, Empty, Gone, Hash, Height, KeyValues, Price, Table, Text, TimerId, Title, TransactionId, Use,
} from '../lib/parts.js';
import {useIsGone, useRefreshed} from '../lib/refreshed.js';
import {CallTree, Changes, Money, Outcome, Output, WhyItFailed} from '../lib/trace.js';
import {keyText, valueText} from '../lib/values.js';

const BEFORE_SHOWN = 20;
const TEXT_LETTERS = 20_000;
const ADDRESS_LETTERS = 42;
const PENDING = 'TIMER_STATUS_PENDING';
const KINDS = {PENDING: 'pending', FIRED: 'fired', EXPIRED: 'lost', REMOVED_INSUFFICIENT_FUNDS: 'lost', CANCELLED: 'quiet'};

export default function Timer({id}) {
  const bytes = fromHex(id);
  const [isOver, setOver] = useState(false);
  const answer = useRefreshed((signal) => ask('TimerService/ExplainTimer', {timerId: bytes}, signal), [id], !isOver);
  const {rewound} = useLive();
  const isGone = useIsGone(answer);
  if (answer.data && isOver !== (answer.data.timer.status !== PENDING)) setOver(!isOver);
  const heading = html`<${Title} aside=${html`<span class="hex">${visible(id)}</span> <${Copy} text=${id} what="the id" />`}>
    ${answer.data?.timer.record?.kind === 'TIMER_KIND_STATE_WATCH' ? 'Watch' : 'Timer'}<//>`;
  if (isGone) return html`${heading}<${Gone} what="This timer" rewound=${rewound} />`;
  if (answer.error?.code === 'not_found') return html`${heading}<${Unknown} />`;
  return html`${heading}<${Answer} answer=${answer} what="for the timer">${(data) => html`<${Known} ...${data} id=${bytes} />`}<//>`;
}

const Unknown = () => html`<${Empty} command="cowboy-devnet timers list">
  No timer of this chain has this id. These are pending:<//>`;

function Known({timer, history = [], forecast, position, putOffsBefore, isCut, text, id}) {
  const firedAt = lastFire(history);
  return html`<div class="stack">
    <${Facts} timer=${timer} />
    <div class="grid">
      <div class="stack">
        <${Card} title="Its life" aside=${counted(history.length, 'decision')}>
          ${putOffsBefore !== undefined && html`<p class="muted">How often it was put off below height ${grouped(putOffsBefore)} was not looked up.</p>`}
          ${isCut && html`<p class="muted">Of its decisions the first and the latest are here.</p>`}
          ${history[0]?.decision.decision !== 'scheduled' && html`<p class="muted">The node has no block in which it was scheduled: it came with a state that was taken over.</p>`}
          <${Life} history=${history} ahead=${forecast && html`<${Ahead} ...${forecast} />`} />
        <//>
        ${forecast && html`<${Sentences} text=${text} />`}
      </div>
      <div class="stack">
        ${forecast && html`<${Forecast} ...${forecast} position=${position} />`}
        ${timer.standing && html`<${Standing} ...${timer.standing} />`}
        ${timer.queued && html`<${Queued} ...${timer.queued} />`}
        ${timer.watch && html`<${Watch} ...${timer.watch} record=${timer.record} />`}
        ${forecast && number(forecast.timersBefore) > 0 && html`<${Before} timer=${timer} forecast=${forecast} />`}
        ${!forecast && text && html`<${Sentences} text=${text} />`}
      </div>
    </div>
    ${firedAt && html`<${Fire} id=${id} receipt=${firedAt} />`}
  </div>`;
}

const ID = /(0x[0-9a-f]{40,})/;

// The node's own sentences; what they name leads where it is shown.
const Sentences = ({text = ''}) => html`<${Card} title="In sentences">${
  text.slice(0, TEXT_LETTERS).split('\n').map((line) => {
    const parts = line.split(ID);
    return html`<p class="sentence">${parts.map((part, index) =>
      (index % 2 ? html`<${Named} digits=${part} before=${parts[index - 1]} />` : visible(part)))}</p>`;
  })}<//>`;

function Named({digits, before}) {
  if (digits.length === ADDRESS_LETTERS) return html`<${Address} value=${digits} />`;
  if (/transaction $/.test(before)) return html`<${TransactionId} value=${digits} />`;
  if (/timer $/.test(before)) return html`<${TimerId} value=${digits} />`;
  return html`<${Hash} value=${digits} />`;
}

// The receipt of its latest fire; of a watch there may be many.
const lastFire = (history) =>
  history.filter(({decision, receipt}) => decision.decision === 'fired' && receipt).at(-1)?.receipt;

function Facts({timer}) {
  const {actor, feePayer, height, status, record = {}} = timer;
  const kind = status.replace('TIMER_STATUS_', '');
  return html`<${Card} title="What it is" aside=${html`<${Badge} kind=${KINDS[kind]}>${enumText(status, 'TIMER_STATUS_')}<//>`}>
    <${KeyValues} rows=${[
      ['actor', html`<${Address} value=${actor} />`],
      ['payer', feePayer === actor ? 'the actor itself' : html`<${Address} value=${feePayer} />`],
      record.target && ['target', html`<${Address} value=${record.target} />`],
      ['due at height', html`<${Height} of=${height} />`],
      ['handler', record.handler && html`<code>${visible(record.handler)}</code>`],
      ['payload', record.payload && html`<code><${Text} value=${valueText(record.payload)} letters=${160} /></code>`],
      ['limit', record.gasLimit && html`${grouped(record.gasLimit)} cycles${record.isGasLimitDefaulted && html` <span class="muted">by default</span>`}`],
      ['expires after height', record.expiresAt && grouped(record.expiresAt)],
      ['scheduled at height', record.scheduledAt && html`<${Height} of=${record.scheduledAt} />`],
      ['sequence', record.sequence && grouped(record.sequence)],
      ['lies in', record.tier && `${enumText(record.tier, 'TIMER_TIER_')}${record.bucket === undefined ? '' : ` ${grouped(record.bucket)}`}`],
      ['bidding agent', record.gba && html`<${Address} value=${record.gba} />`],
      ['most for a cycle', record.maxFeePerCycle && html`<${Price} units=${record.maxFeePerCycle} />`],
      ['tip for a cycle', record.maxPriorityFeePerCycle && html`<${Price} units=${record.maxPriorityFeePerCycle} />`],
      ['bid for a cycle', record.bidFp && fixedText(record.bidFp)],
      number(record.feeTier) > 0 && ['fee tier', grouped(record.feeTier)],
      number(record.fireSeq) > 0 && ['fired so far', counted(record.fireSeq, 'time')],
    ].filter(Boolean)} />
  <//>`;
}

// --- what awaits it ---

const Ahead = ({height, isPayable, isRoom, isExpiring}) => html`
  <p><${Badge} kind="pending">${isExpiring ? 'will be removed' : 'will be looked at'}<//> <span class="muted">at height</span> <${Height} of=${height} />
    <span class="phrase">: ${isExpiring ? 'it will have expired, unless it fires before' : isPayable && isRoom ? 'it fires, as things stand' : 'it does not fire, as things stand'}</span></p>`;

const Verdict = ({isGood, good, bad}) =>
  html`<${Badge} kind=${isGood ? 'succeeded' : 'failed'}>${isGood ? good : bad}<//>`;

function Forecast({height, price = {}, maxCost, available, isPayable, isExpiring, timersBefore, cyclesBefore,
  payerCostBefore, isMoreBefore, laneCycles, isRoom, cyclesLimit, room, position}) {
  return html`<${Card} title="What awaits it" aside="as things stand, at the prices of the next block">
    ${isExpiring ? html`<p class="badges"><${Badge} kind="lost">will have expired<//></p>` : html`
      <p class="badges"><${Verdict} isGood=${isRoom} good="room for it" bad="no room for it" />${' '}
        <${Verdict} isGood=${isPayable} good="payable" bad="not payable" /></p>
      <${Room} before=${cyclesBefore ?? 0} own=${cyclesLimit ?? 0} whole=${laneCycles ?? 0} />
      <${Use} name="of its payer's balance" used=${String(big(maxCost) + big(payerCostBefore))} whole=${available ?? 0} unit="" show=${cby} kind=${isPayable ? 'pending' : 'lost'} />`}
    <${KeyValues} rows=${[
      ['looked at in block', html`<${Height} of=${height} />`],
      ['timers before it', `${grouped(timersBefore ?? 0)}${isMoreBefore ? ' or more' : ''}`],
      ['before it at its height', position === undefined ? null : grouped(position)],
      ['sets aside at most', html`<${Amount} units=${maxCost} />`],
      ['those before it set aside', html`<${Amount} units=${payerCostBefore} />`],
      ['balance of its payer', html`<${Amount} units=${available} />`],
      ['burned for a cycle', html`<${Price} units=${price.cycleBurn} />`],
      big(price.cycleTip) ? ['tip for a cycle', html`<${Price} units=${price.cycleTip} />`] : ['', null],
      big(price.laneBurn) ? ['lane for a cycle', html`<${Price} units=${price.laneBurn} />`] : ['', null],
      room && ['fires of the block before it', `${grouped(room.fires ?? 0)} of ${grouped(room.firesMax)}`],
      room && ['fires of its target before it', `${grouped(room.targetFires ?? 0)} of ${grouped(room.targetFiresMax)}`],
    ].filter(Boolean)} />
  <//>`;
}

const WAITS = {
  cap: 'its limit is above the cap in force', lane_basefee: 'it pays less than the basefee of the lane',
  funds: 'its payer cannot pay', below_basefee: 'its bid is below the basefee',
};

const Standing = (standing) => html`
  <${Card} title="What it offers" aside=${standing.rank && `place ${grouped(standing.rank)} of ${grouped(standing.contenders)} known to compete`}>
    ${standing.waitsFor && html`<p class="error">It gets no turn whatever others offer: ${WAITS[standing.waitsFor] ?? visible(standing.waitsFor)}.</p>`}
    <${KeyValues} rows=${[
      ['most for a cycle', html`<${Price} units=${standing.maxFee} />`],
      ['offered tip', html`<${Price} units=${standing.maxPriority} />`],
      ['tip that is left', html`<${Price} units=${standing.priority} />`],
      big(standing.basefeeLane) ? ['basefee of the lane', html`<${Price} units=${standing.basefeeLane} />`] : ['', null],
      ['basefee of cycles', standing.basefeeCycle && html`<${Price} units=${standing.basefeeCycle} />`],
      ['weight of its actor', ppmText(standing.weightPpm)],
      ['effective priority', ppmText(standing.effectivePriority)],
      ['waited', standing.waited && counted(standing.waited, 'block')],
      ['slice of its actor', standing.sliceCycles && `${grouped(standing.sliceCycles)} cycles`],
    ]} />
  <//>`;

const Queued = ({rank, score, bidFp, origin}) => html`
  <${Card} title="In the Globalbox" aside=${rank && `place ${grouped(rank)}`}>
    <${KeyValues} rows=${[
      ['score', grouped(score)], ['bid for a cycle', fixedText(bidFp)], ['queued since height', html`<${Height} of=${origin} />`],
    ]} />
  <//>`;

const Watch = ({state, hitHeight, record}) => html`
  <${Card} title="What it watches" aside=${enumText(state, 'WATCH_STATE_')}>
    <ul class="plain">${(record.watchKeys ?? []).map(({actor, key}) => html`<li>
      <${Address} value=${actor} /> <code><${Text} value=${key ? keyText(key) : 'all of its state'} /></code></li>`)}</ul>
    ${hitHeight && html`<p>It saw a change at height <${Height} of=${hitHeight} />.</p>`}
  <//>`;

// Those that are due before it, or with it and scheduled before.
function Before({timer, forecast}) {
  const own = number(timer.record.sequence);
  const request = {toHeight: forecast.height, pageSize: 200};
  const answer = useRefreshed((signal) => ask('TimerService/ListTimers', request, signal), [timer.id, forecast.height]);
  const isBefore = ({height, record}) =>
    number(height) < number(timer.height) || (height === timer.height && number(record.sequence) < own);
  return html`<${Card} title="What stands before it" aside="in the order in which they are due">
    <${Answer} answer=${answer} what="for timers">${({timers = []}) => html`
      <${Table} caption="Timers before it" rows=${timers.filter(isBefore).slice(0, BEFORE_SHOWN)} columns=${[
        {title: 'timer', of: ({id}) => html`<${TimerId} value=${id} />`},
        {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
        {title: 'due at', isNumber: true, of: ({height}) => html`<${Height} of=${height} />`},
        {title: 'limit', isNumber: true, of: ({record}) => grouped(record.gasLimit)},
      ]} />`}<//>
  <//>`;
}

// --- its fire ---

function Fire({id, receipt}) {
  const [isAsked, setAsked] = useState(false);
  const request = {timerId: id, height: receipt.height};
  const load = (signal) => (isAsked ? ask('QueryService/TraceTimer', request, signal) : Promise.resolve(null));
  const answer = useAnswer(load, [id, receipt.height, isAsked]);
  const trace = answer.data?.executions?.at(-1);
  return html`
    ${isFailed(receipt) && html`<${WhyItFailed} error=${receipt.error} call=${trace?.call} />`}
    <${Card} title="Its fire" aside=${html`<span>at height <${Height} of=${receipt.height} /></span> <${Outcome} receipt=${receipt} />`}>
      <div class="grid uses">
        <${Use} name="cycles" used=${receipt.cyclesUsed ?? 0} whole=${receipt.cyclesLimit ?? 0} kind="timer" />
        <${Use} name="cells" used=${receipt.cellsUsed ?? 0} whole=${receipt.cellsLimit ?? 0} unit="cells" kind="deferred" />
      </div>
      ${isAsked ? html`<${Answer} answer=${answer} what="the node to execute it again">${() => html`<${Called} ...${{trace, receipt}} />`}<//>`
        : html`<button onClick=${() => setAsked(true)}>Execute it again, to see each call</button>`}
    <//>
    ${trace && html`<${Changes} ...${trace.changes} />`}
    ${receipt.output?.printed?.length > 0 && html`<${Output} ...${receipt.output} />`}
    <${Money} receipt=${receipt} />`;
}

const Called = ({trace, receipt}) => (trace?.call
  ? html`<${CallTree} call=${trace.call} receipt=${receipt} />`
  : html`<p class="muted">It called no handler.</p>`);
