// The life of a timer as a line: a station for each decision, with the numbers that were
// compared as bars, and all numbers behind a fold.

import {html, useState} from '../vendor/htm-preact.js';
import {big, cby, counted, grouped, isFailed, visible} from './format.js';
import {Address, Decision, Height, Text, TimerId, TransactionId} from './parts.js';
import {keyText} from './values.js';

const STATIONS_SHOWN = 60;
const PPM = 1_000_000n;
const AMOUNTS = new Set(['available', 'max_cost', 'required']);
const SHARES = new Set(['weight_ppm', 'effective_priority', 'marginal_priority', 'highest_priority']);
const ZERO_ID = /^A+=*$/;

// Parts per million as a number: 1,500,000 is 1.5.
export function ppmText(value) {
  const parts = big(value);
  const rest = String(parts % PPM).padStart(6, '0').replace(/0+$/, '');
  return `${grouped(parts / PPM)}${rest && `.${rest}`}`;
}

const NAMES = {
  gas_limit: 'limit', weight_ppm: 'weight', current_height: 'height', bid_fp: 'bid', max_fee: 'most for a cycle',
  max_priority: 'offered tip for a cycle',
};

export const nameOf = (name) => visible(NAMES[name] ?? name.replaceAll('_', ' '));

export function numberText(name, value) {
  if (AMOUNTS.has(name)) return cby(value);
  if (SHARES.has(name)) return ppmText(value);
  if (name === 'bid_fp') return fixedText(value);
  return grouped(value);
}

// A bid of the Globalbox, times 2^96 on the wire: base units for a cycle.
export function fixedText(value) {
  const whole = big(value) >> 96n;
  const rest = big(value) & ((1n << 96n) - 1n);
  const decimals = String((rest * 1000n) >> 96n).padStart(3, '0').replace(/0+$/, '');
  return `${grouped(whole)}${decimals && `.${decimals}`}`;
}

// --- what was compared ---

// Two values that were compared: who had less lost.
const DUELS = [
  ['effective_priority', 'marginal_priority', 'its effective priority', 'the last place that had room'],
  ['effective_tip', 'marginal_tip', 'its effective tip', 'the last place that had room'],
  ['max_fee', 'basefee_lane', 'most that it pays for a cycle', 'basefee of the lane'],
  ['max_fee', 'basefee_cycle', 'most that it pays for a cycle', 'basefee of cycles'],
  ['available', 'max_cost', 'balance of its payer', 'what a fire sets aside'],
  ['available', 'required', 'balance of its payer', 'what it needed'],
];

function duelOf({decision, reason, numbers = {}}) {
  const isDecided = decision === 'put_off' || decision === 'slept' || decision === 'removed_insufficient_funds';
  if (!isDecided) return null;
  return DUELS.find(([mine, other]) =>
    numbers[mine] !== undefined && numbers[other] !== undefined && big(numbers[mine]) <= big(numbers[other])
    && (reason !== 'lane' || mine.startsWith('effective')));
}

// Whether there was room for its limit behind those before it: of a lane, of cells, of
// writes. `used` is what those before it used, `reserved` what they might use.
function roomOf({reason, numbers = {}}) {
  const {limit} = numbers;
  const [whole, before] = [numbers.lane, numbers.reserved ?? numbers.used];
  return reason === 'lane' && whole && before !== undefined && limit ? {whole, before, own: limit} : null;
}

const Bar = ({parts, whole, label}) => {
  const scale = Math.max(Number(whole), parts.reduce((sum, [, value]) => sum + Number(value), 0)) || 1;
  let at = 0;
  return html`<svg class="bar compared" width="100%" height="14" role="img" aria-label=${label}>
    <rect class="rest" y="3" width="100%" height="8" rx="4" />
    ${parts.map(([kind, value]) => {
      const left = at;
      at += Number(value);
      return html`<rect class=${kind} y="3" x=${`${(100 * left) / scale}%`} width=${`${(100 * Number(value)) / scale}%`} height="8" />`;
    })}
    ${scale > Number(whole) && html`<line class="mark" x1=${`${(100 * Number(whole)) / scale}%`} x2=${`${(100 * Number(whole)) / scale}%`} y1="0" y2="14" />`}
  </svg>`;
};

// What those before it take of a whole, and whether its own limit fits behind them.
export function Room({before, own, whole, what = 'the lane', unit = 'cycles'}) {
  const label = `${grouped(before)} ${unit} before it and ${grouped(own)} of its own, of ${grouped(whole)} of ${what}`;
  return html`<div class="compare"><${Bar} whole=${whole} label=${label} parts=${[['before', before], ['own', own]]} />
    <p><span class="swatch before"></span>${grouped(before)} before it <span class="swatch own"></span>${grouped(own)} its limit
      <span class="muted"> of ${grouped(whole)} ${unit} of ${what}</span></p></div>`;
}

function Duel({mine, other, mineName, otherName, numbers}) {
  const rows = [[mineName, mine, 'own'], [otherName, other, 'before']];
  const most = Math.max(...rows.map(([, name]) => Number(numbers[name]))) || 1;
  return html`<div class="compare duel">${rows.map(([said, name, kind]) => html`
    <div><span>${said}</span><b class="number">${numberText(name, numbers[name])}</b></div>
    <${Bar} whole=${most} parts=${[[kind, numbers[name]]]} label=${`${said}: ${numberText(name, numbers[name])}`} />`)}</div>`;
}

function Compared({decision}) {
  const room = roomOf(decision);
  const duel = duelOf(decision);
  return html`${room && html`<${Room} ...${room} />`}
    ${duel && html`<${Duel} mine=${duel[0]} other=${duel[1]} mineName=${duel[2]} otherName=${duel[3]} numbers=${decision.numbers} />`}`;
}

// --- the line ---

const Numbers = ({numbers}) => html`<details><summary>all numbers</summary>
  <dl class="values numbers">${Object.entries(numbers).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) =>
    html`<div><dt>${nameOf(name)}</dt><dd>${numberText(name, value)}</dd></div>`)}</dl></details>`;

const PHRASES = {
  scheduled: ({numbers}) => html`with up to ${grouped(numbers.gas_limit)} cycles; it expires after height ${grouped(numbers.expires_at)}`,
  put_off: ({reason, numbers}) => (reason === 'lane' && numbers.rank
    ? html`it came ${grouped(numbers.rank)} of ${grouped(numbers.contenders)}, and the lane had no room for its limit`
    : REASONS[reason]),
  slept: ({reason}) => html`until ${REASONS[reason] ?? visible(reason)} is over`,
  fired: ({numbers}) => html`it used ${grouped(numbers.cycles_used)} cycles and ${grouped(numbers.cells_used)} cells${
    numbers.rank && html`; it came ${grouped(numbers.rank)} of ${grouped(numbers.contenders)}`}`,
  cancelled: ({reason}) => reason && html`by ${visible(reason)}`,
  enqueued: ({numbers}) => html`with a bid of ${fixedText(numbers.bid_fp)} base units a cycle`,
  materialized: ({numbers}) => html`${cby(numbers.required)} of its payer's ${cby(numbers.available)} were set aside`,
  hit: () => 'what it watches changed',
  passed_over: () => 'its target had its share of fires in this block',
  put_back: ({reason}) => html`${REASONS[reason] ?? visible(reason)}, so it keeps its place`,
  returned: () => 'other rules emptied the Globalbox',
  removed_insufficient_funds: () => 'its payer could not pay for the fire',
  expired: ({numbers}) => html`height ${grouped(numbers.expires_at)} was the last at which it might fire`,
};

const REASONS = {
  lane: 'the timer lane had no room for its limit',
  cells: 'the block had no room for its cells',
  writes: 'the block had no room for its writes',
  gc: 'the block had cleared as much as it may',
  cap: 'its limit is above the cap in force',
  lane_basefee: 'it pays less than the basefee of the lane',
  below_basefee: 'its bid is below the basefee',
  funds: 'its payer cannot pay',
};

function Who({origin, rival, receipt}) {
  return html`${origin && !ZERO_ID.test(origin) && html`<p class="muted">in transaction <${TransactionId} value=${origin} /></p>`}
    ${rival && html`<p class="muted">The last place that was large enough went to timer <${TimerId} value=${rival} />.</p>`}
    ${isFailed(receipt) && receipt.error && html`<p class="error"><b>${visible(receipt.error.kind)}</b>: <${Text} value=${receipt.error.message} /></p>`}`;
}

const Keys = ({keys}) => html`<p class="muted">changed: ${keys.map(({actor, key}, index) =>
  html`${index > 0 && ', '}<${Address} value=${actor} /> <code><${Text} value=${keyText(key)} letters=${80} /></code>`)}</p>`;

function Phrase({name, reason, numbers}) {
  const said = PHRASES[name]?.({reason, numbers}) ?? (reason && visible(reason));
  return said ? html`<span class="phrase">: ${said}</span>` : null;
}

// What its agent offered, or was taken to offer.
function Bid({numbers: {agent_answered: answered, tip, max_priority: priority, max_fee: most}}) {
  if (answered === undefined) return null;
  const offer = `a tip of ${grouped(tip ?? priority ?? 0)}, at most ${grouped(most)} a cycle`;
  return html`<p class="bid">${big(answered) ? `Its agent bid ${offer}.` : `Its agent was not heard: by default ${offer}.`}</p>`;
}

function Station({step: {decision, receipt}, since}) {
  const {height, decision: name, reason, numbers = {}, origin, rival, matchedKeys = []} = decision;
  return html`<li class=${`station ${name}`}>
    ${since !== null && html`<p class="since">${since > 0 ? `${counted(since, 'block')} later` : 'in the same block'}</p>`}
    <p><${Decision} of=${name} /> <span class="muted">at height</span> <${Height} of=${height} />
      <${Phrase} ...${{name, reason, numbers}} /></p>
    <${Bid} numbers=${numbers} />
    <${Compared} decision=${decision} />
    <${Who} ...${{origin, rival, receipt}} />
    ${matchedKeys.length > 0 && html`<${Keys} keys=${matchedKeys} />`}
    ${Object.keys(numbers).length > 0 && html`<${Numbers} numbers=${numbers} />`}
  </li>`;
}

// The stations; of a long life the latest, until the others are asked for. `ahead` is
// what awaits it.
export function Life({history, ahead}) {
  const [shown, setShown] = useState(STATIONS_SHOWN);
  const first = Math.max(0, history.length - shown);
  const sinceLast = (index) =>
    index > 0 ? Number(big(history[index].decision.height) - big(history[index - 1].decision.height)) : null;
  return html`
    ${first > 0 && html`<button onClick=${() => setShown(history.length)}>Show ${counted(first, 'earlier decision')}</button>`}
    <ol class="life">
      ${history.slice(first).map((step, index) => html`<${Station} key=${first + index} step=${step} since=${sinceLast(first + index)} />`)}
      ${ahead && html`<li class="station ahead">${ahead}</li>`}
    </ol>`;
}
