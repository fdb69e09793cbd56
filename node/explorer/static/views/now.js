// Now: the head, what the lanes use, fees, pool, what is due next, and what a
// development chain lets its reader do.

import {html, useRef} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {Curves} from '../lib/chart.js';
import {big, compact, counted, durationText, enumText, grouped, number, timeText} from '../lib/format.js';
import {ONLY_READ, useLive} from '../lib/live.js';
import {
  Address, Answer, Card, Count, Empty, Hash, Height, KeyValues, Loading, Price, Table, TimerId, Title, Use,
} from '../lib/parts.js';
import {linkTo} from '../views.js';
import {Controls} from './now_controls.js';

const FEES_BLOCKS = 100;
const LANES_HEIGHTS = 256;
const LANES_BUCKETS = 8;
const BLOCKS_SHOWN = 10;
const TIMERS_SHOWN = 8;

export default function Now() {
  const now = useLive();
  return now.status ? html`<${Board} ...${now} />` : html`<${Title}>Now<//><${Loading} />`;
}

function Board(now) {
  const {status, head, rewinds} = now;
  const [answer, blocks] = useBlocks(now);
  const at = [head.hash, rewinds];
  return html`
    <${Title} aside=${`node ${status.nodeVersion}`}>Now<//>
    <div class="stack">
      ${status.dev && html`<${Controls} status=${status} />`}
      <div class="grid">
        <${Head} status=${status} head=${head} />
      
        <${Lanes} at=${at} head=${head} />
        <${Next} at=${at} head=${head} />
        <${Fees} ...${{answer, blocks, status}} />
        <${Latest} ...${{answer, blocks}} />
      </div>
    </div>`;
}

const Head = ({status, head}) => html`
  <${Card} title="Head" aside=${html`<${Hash} value=${head.hash} />`}>
    <${KeyValues} rows=${[
      ['height', html`<${Height} of=${head.height} />`],
      ['virtual time', timeText(head.timestampMs)],
      ['blocks are made', ONLY_READ ? 'no more: the chain is only read' : miningText(status)],
      ['rules', status.rules],
      ['in the pool', counted(status.poolTransactions ?? 0, 'transaction')],
      ['waiting for a nonce', number(status.poolQueued) ? counted(status.poolQueued, 'transaction') : null],
      ['states kept from', html`<${Count} of=${status.oldestStateHeight} />`],
      ['confined', status.walls?.join(', ') || 'no'],
    ]} />
  <//>`;

function miningText({miningMode, paceMs, autoTimers, timeHolds}) {
  const mode = enumText(miningMode, 'MINING_MODE_');
  const said = {interval: `every ${durationText(number(paceMs))}`, instant: 'for each transaction', manual: 'on request'};
  const held = number(timeHolds) ? '; time is held' : '';
  return `${said[mode] ?? mode}${autoTimers ? ', then to the next timer' : ''}${held}`;
}

// --- lanes ---

const LANES = [
  {name: 'transactions', kind: 'user', field: 'transactionCycles'},
  {name: 'timers', kind: 'timer', field: 'timerCycles'},
  {name: 'deferred messages', kind: 'deferred', field: 'messageCycles'},
  {name: 'bidding agents', kind: 'quiet', field: 'agentCycles'},
  {name: 'cells', kind: 'quiet', field: 'cells', unit: 'cells'},
];

// The latest block against its limits, and the fullest one of the last heights.
function Lanes({at, head}) {
  const last = number(head.height);
  const use = (from, buckets, signal) =>
    ask('QueryService/GetLaneUse', {fromHeight: String(Math.max(0, from)), toHeight: String(last), buckets}, signal);
  const load = (signal) => Promise.all([use(last, 1, signal), use(last - LANES_HEIGHTS + 1, LANES_BUCKETS, signal)]);
  const answer = useAnswer(load, ['lanes', at[1]], at);
  return html`<${Card} title="Lanes" aside=${`the latest block; | the fullest of the last ${LANES_HEIGHTS}`}>
    <${Answer} answer=${answer}>${([latest, lately]) => LANES
      .map((lane) => ({
        ...lane,
        used: latest.buckets[0].used?.[lane.field] ?? 0,
        whole: latest.limits?.block?.[lane.field] ?? 0,
        most: Math.max(...lately.buckets.map(({most}) => number(most?.[lane.field]))),
      }))
      .filter(({kind, unit, most}) => kind !== 'quiet' || unit || most > 0)
      .map((lane) => html`<${Use} key=${lane.name} ...${lane} />`)}<//>
  <//>`;
}

// --- fees ---

const Fees = ({answer, blocks, status}) => html`
  <${Card} title="Fees" aside="base units a unit, over the last blocks">
    <${Answer} answer=${answer}>${() => html`<${FeeCurves} blocks=${[...blocks].reverse()} />`}<//>
    <${KeyValues} rows=${[
      ['cycle, next block', html`<${Price} units=${status.nextBasefeeCycle} />`],
      ['cell, next block', html`<${Price} units=${status.nextBasefeeCell} per="cell" />`],
      ['lane, next block', number(status.nextBasefeeLane) ? html`<${Price} units=${status.nextBasefeeLane} />` : null],
    ]} />
  <//>`;

function FeeCurves({blocks}) {
  const headers = blocks.map(({header}) => header);
  const heights = headers.map(({height}) => number(height));
  const curve = (name, kind, field) => ({name, kind, values: headers.map((header) => number(header[field]))});
  const series = [
    curve('cycle', 'user', 'basefeeCycle'),
    curve('cell', 'deferred', 'basefeeCell'),
    curve('lane', 'timer', 'basefeeLane'),
  ].filter(({name, values}) => name !== 'lane' || values.some(Boolean));
  return html`<${Curves} title="Basefees" heights=${heights} series=${series} />`;
}

// --- what is due ---

function Next({at, head}) {
  const request = {pageSize: TIMERS_SHOWN};
  const answer = useAnswer((signal) => ask('TimerService/ListTimers', request, signal), ['next', at[1]], at);
  return html`<${Card} title="Next due timers" aside=${html`<a href=${linkTo('calendar')}>calendar</a>`}>
    <${Answer} answer=${answer}>${({timers = []}) => timers.length
      ? html`<${Table} caption="Timers that are due next" rows=${timers} keyOf=${({id}) => id} columns=${[
          {title: 'timer', of: ({id}) => html`<${TimerId} value=${id} />`},
          {title: 'due at', isNumber: true, of: (timer) => html`<${Due} timer=${timer} head=${head} />`},
          {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
          {title: 'most cycles', isNumber: true, of: ({record}) => grouped(record?.gasLimit ?? 0)},
        ]} />`
      : html`<${Empty} command="cowboy-devnet deploy genesis/actors/heartbeat.py --value '5 CBY'">
          No timer waits. An actor schedules one with <code>schedule_timer</code>; this one does when it is deployed:<//>`}
    <//>
  <//>`;
}

function Due({timer, head}) {
  if (timer.record?.kind === 'TIMER_KIND_STATE_WATCH') return html`<span class="muted">a watch</span>`;
  const ahead = big(timer.height) - big(head.height);
  return html`<${Height} of=${timer.height} /> <span class="muted">${ahead > 0n ? `in ${compact(ahead)}` : 'put off'}</span>`;
}

// --- blocks ---

// The latest blocks, newest first, as they came. Those that are shown are asked for when
// some of them did not come; of earlier ones it may know some alone.
function useBlocks({blocks: followed, head, rewinds}) {
  const known = useRef({});
  const at = known.current;
  if (at.rewinds !== rewinds) Object.assign(at, {rewinds, blocks: []});
  at.blocks = joined(at.blocks, followed);
  if (!isWhole(at.blocks, head)) at.wanted = head.hash;
  const request = {descending: true, view: 'BLOCK_VIEW_SUMMARY', pageSize: at.blocks.length ? BLOCKS_SHOWN : FEES_BLOCKS};
  const load = async (signal) => ({rewinds, ...(await ask('QueryService/ListBlocks', request, signal))});
  const answer = useAnswer(load, ['blocks', rewinds], [at.wanted]);
  if (answer.data?.rewinds === rewinds) at.blocks = joined(at.blocks, answer.data.blocks);
  return [answer, at.blocks];
}

const heightOf = ({header}) => number(header.height);

function joined(blocks, others) {
  const byHeight = new Map([...blocks, ...others].map((block) => [heightOf(block), block]));
  return [...byHeight.values()].sort((one, other) => heightOf(other) - heightOf(one)).slice(0, FEES_BLOCKS);
}

// Whether the blocks that are shown follow one from the other, up to the head.
const isWhole = ([newest, ...before], head) =>
  newest?.header.hash === head.hash && before.slice(0, BLOCKS_SHOWN - 1)
    .every(({header}, index) => header.hash === [newest, ...before][index].header.parentHash);

const Latest = ({answer, blocks}) => html`
  <${Card} title="Latest blocks" class="card wide-card"><${Answer} answer=${answer}>${() => html`
    <${Table} caption="The latest blocks" rows=${blocks.slice(0, BLOCKS_SHOWN)} keyOf=${({header}) => header.height ?? '0'} columns=${[
      {title: 'height', of: ({header, run}) => html`<${Height} of=${header.height} />${
        number(run?.last) > number(run?.first) && html` <span class="muted">of a run of ${grouped(big(run.last) - big(run.first) + 1n)}</span>`}`},
      {title: 'virtual time', of: ({header}) => timeText(header.timestampMs)},
      {title: 'transactions', isNumber: true, of: ({transactionIds = []}) => grouped(transactionIds.length)},
      {title: 'fires', isNumber: true, of: ({fireCount}) => grouped(fireCount ?? 0)},
      {title: 'messages', isNumber: true, of: ({messageCount}) => grouped(messageCount ?? 0)},
      {title: 'cycles', isNumber: true, of: ({header}) => grouped(header.cyclesUsed ?? 0)},
    ]} />`}<//><//>`;
