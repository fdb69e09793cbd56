// Block: what was due in the order in which it was looked at, who got the lane and why,
// and everything else that the block did.

import {html, useEffect, useState} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {big, counted, grouped, isFailed, isZero, number, spaced, timeText, visible} from '../lib/format.js';
import {useLive} from '../lib/live.js';
import {
  Address, Amount, Answer, Badge, Card, Empty, Failure, Gone, Hash, Height, KeyValues, Price, Table, Text, Title,
  TransactionId, Use,
} from '../lib/parts.js';
import {valueText} from '../lib/values.js';
import {linkTo} from '../views.js';
import {Lane} from './block_lane.js';

const RECEIPTS_READ_MAX = 1000;

export default function BlockView({height}) {
  const {head, rewinds} = useLive();
  const isLatest = height === undefined;
  const wanted = isLatest ? head?.height ?? null : height.replace(/[,_]/g, '');
  if (wanted === null) return null;
  if (!/^\d{1,20}$/.test(wanted)) {
    return html`<${Title}>Block<//><${Empty}>A height is a number; <code>${visible(height)}</code> is none.<//>`;
  }
  return html`<${OneBlock} key=${isLatest ? 'latest' : wanted} height=${wanted} isLatest=${isLatest}
    head=${head} rewinds=${rewinds} />`;
}

function OneBlock({height, isLatest, head, rewinds}) {
  const [first] = useState(rewinds);
  const isAhead = Boolean(head) && big(height) > big(head.height);
  const answer = useAnswer(
    (signal) => ask('QueryService/GetBlock', {height, view: 'BLOCK_VIEW_SUMMARY'}, signal),
    ['block', isLatest ? '' : height, rewinds, isLatest ? '' : isAhead], [height],
  );
  const title = html`<${Title} aside=${html`<${Steps} height=${height} head=${head} />`}>Block ${grouped(height)}<//>`;
  if (isAhead) {
    return html`${title}${rewinds > first ? html`<${Gone} what=${`Block ${grouped(height)}`} />`
      : html`<${Ahead} height=${height} head=${head} />`}`;
  }
  return html`${title}<${Answer} answer=${answer} what=${`for block ${grouped(height)}`}>${({block}) => html`
    <${Contents} block=${block} height=${block.header.height ?? '0'} rewinds=${rewinds} />`}<//>`;
}

const Ahead = ({height, head}) => html`<${Empty} command=${`cowboy-devnet advance --height ${height}`}>
  The chain is at height <${Height} of=${head.height} />: this block is
  ${' '}${counted(big(height) - big(head.height), 'block')} ahead. This page shows it when it is there.
  ${' '}<a href=${linkTo('calendar', '', {at: height})}>What is due there</a><//>`;

// The blocks before and after, also with the arrow keys.
function Steps({height, head}) {
  const at = big(height);
  const before = at > 0n ? linkTo('block', String(at - 1n)) : null;
  const after = head && at < big(head.height) ? linkTo('block', String(at + 1n)) : null;
  useEffect(() => {
    const listen = (event) => {
      if (event.target.closest('input, textarea, select, [tabindex="0"]') || event.ctrlKey || event.altKey || event.metaKey) return;
      const to = {ArrowLeft: before, ArrowRight: after}[event.key];
      if (to) location.hash = to;
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [before, after]);
  return html`${before && html`<a href=${before} rel="prev">← before</a>`}
    ${after && html`<a href=${after} rel="next">after →</a>`}
    ${head && html`<a href=${linkTo('block')}>latest</a>`}`;
}

function Contents({block, height, rewinds}) {
  const {header, run} = block;
  const isInRun = number(run?.last) > number(run?.first);
  const isSmall = (block.receiptCount ?? 0) <= RECEIPTS_READ_MAX;
  const [isWanted, setWanted] = useState(false);
  const isRead = (isSmall || isWanted) && !isInRun;
  const full = useAnswer(
    (signal) => (isRead ? ask('QueryService/GetBlock', {height, view: 'BLOCK_VIEW_FULL'}, signal) : Promise.resolve({})),
    ['full', header.hash, isRead, rewinds],
  );
  const contents = full.data?.block ?? {};
  return html`<div class="stack">
    <div class="grid">
      <${Header} block=${block} />
      <${Amounts} height=${height} hash=${header.hash} />
    </div>
    ${isInRun ? html`<${Card} title="Nothing was due"><p>Heights <b>${grouped(run.first)}</b> to <b>${grouped(run.last)}</b> are
        one run of empty blocks with one header: only time passed.</p>
        <p><a href=${linkTo('block', String(big(run.last) + 1n))}>The block after it</a></p><//>`
      : html`<${Lane} height=${height} hash=${header.hash} receipts=${contents.receipts} />`}
    ${full.error && html`<${Failure} error=${full.error} again=${full.reload} />`}
    ${!isRead && !isInRun && html`<${Card} title="Transactions, messages, events"><p>This block has
      ${' '}${counted(block.receiptCount, 'receipt')}. <button onClick=${() => setWanted(true)}>Show them</button></p><//>`}
    ${contents.header && html`<${Executions} block=${contents} />`}
  </div>`;
}

const Header = ({block: {header, fireCount, messageCount, transactionIds = [], eventCount}}) => html`
  <${Card} title="Header"><${KeyValues} rows=${[
    ['hash', html`<${Hash} value=${header.hash} />`],
    ['parent', html`<${Hash} value=${header.parentHash} />`],
    ['virtual time', timeText(header.timestampMs)],
    ['proposer', html`<${Address} value=${header.proposer} />`],
    ['transactions', grouped(transactionIds.length)],
    ['fires', grouped(fireCount ?? 0)],
    ['messages', grouped(messageCount ?? 0)],
    ['events', grouped(eventCount ?? 0)],
    ['basefee of a cycle', html`<${Price} units=${header.basefeeCycle} />`],
    ['basefee of a cell', html`<${Price} units=${header.basefeeCell} per="cell" />`],
    ['basefee of the lane', number(header.basefeeLane) ? html`<${Price} units=${header.basefeeLane} />` : null],
    ['state root', html`<${Hash} value=${header.stateRoot} />`],
  ]} /><//>`;

// What the lanes were used for, and where the fees went: the node adds them up.
function Amounts({height, hash}) {
  const request = {fromHeight: height, toHeight: height, buckets: 1};
  const answer = useAnswer((signal) => ask('QueryService/GetLaneUse', request, signal), ['use', height, hash]);
  return html`<${Card} title="Lanes and fees"><${Answer} answer=${answer}>${({buckets, limits}) => {
    const {used = {}, burned, tipped} = buckets[0];
    const whole = limits?.block ?? {};
    return html`
      <${Use} name="transactions" kind="user" used=${used.transactionCycles ?? 0} whole=${whole.transactionCycles} />
      <${Use} name="timers" kind="timer" used=${used.timerCycles ?? 0} whole=${whole.timerCycles} />
      <${Use} name="deferred messages" kind="deferred" used=${used.messageCycles ?? 0} whole=${whole.messageCycles} />
      ${number(used.agentCycles) > 0 && html`<${Use} name="bidding agents" kind="quiet" used=${used.agentCycles} whole=${whole.agentCycles} />`}
      <${Use} name="cells" kind="quiet" used=${used.cells ?? 0} whole=${whole.cells} unit="cells" />
      <${KeyValues} rows=${[
        ['burned', html`<${Amount} units=${burned} />`],
        ['tipped', html`<${Amount} units=${tipped} />`],
      ]} />`;
  }}<//><//>`;
}

// --- executions ---

function Executions({block: {transactions = [], receipts = [], events = []}}) {
  const sent = receipts.filter(({kind}) => kind === 'RECEIPT_KIND_TRANSACTION');
  const messages = receipts.filter(({kind}) => /MESSAGE$/.test(kind));
  const agents = receipts.filter(({kind}) => kind === 'RECEIPT_KIND_AGENT');
  return html`
    <${Card} title="Transactions" aside=${counted(sent.length, 'transaction')}>
      ${sent.length ? html`<${Transactions} transactions=${transactions} receipts=${sent} />`
        : html`<${Empty} command="cowboy-devnet transfer 0x… '5 CBY'">Nobody sent one into this block.<//>`}<//>
    ${messages.length > 0 && html`<${Card} title="Messages" aside=${counted(messages.length, 'message')}>
      <${Receipts} caption="Messages that were delivered" receipts=${messages} /><//>`}
    ${agents.length > 0 && html`<${Card} title="Bidding agents" aside=${counted(agents.length, 'question')}>
      <${Receipts} caption="Agents that were asked for a bid" receipts=${agents} /><//>`}
    ${events.length > 0 && html`<${Card} title="Events" aside=${counted(events.length, 'event')}><${Events} events=${events} /><//>`}`;
}

const money = [
  {title: 'cycles', isNumber: true, of: ({cyclesUsed}) => grouped(cyclesUsed ?? 0)},
  {title: 'fee', isNumber: true, of: ({fee}) => html`<${Amount} units=${fee} />`},
  {title: 'tip', isNumber: true, of: ({tip}) => html`<${Amount} units=${tip} />`},
];

const outcome = {
  title: 'outcome',
  of: (receipt) => (isFailed(receipt)
    ? html`<${Badge} kind="failed">failed<//> <span class="muted"><${Text} value=${receipt.error?.kind ?? ''} letters=${60} /></span>`
    : html`<${Badge} kind="succeeded">succeeded<//>`),
};

const Transactions = ({transactions, receipts}) => html`
  <${Table} caption="Transactions of this block" rows=${receipts} keyOf=${({index}) => index ?? 0} columns=${[
    {title: 'id', of: ({id}) => html`<${TransactionId} value=${id} />`},
    {title: 'sender', of: ({sender}) => html`<${Address} value=${sender} />`},
    {title: 'asks', of: (_, index) => html`<${Asked} of=${transactions[index]?.body?.instruction ?? {}} />`},
    outcome, ...money,
  ]} />`;

// An instruction in a few words.
function Asked({of}) {
  const [kind, what] = Object.entries(of)[0] ?? ['', {}];
  const to = what.actor ?? what.to ?? what.address;
  return html`${spaced(kind)}${what.handler && html` <code><${Text} value=${what.handler} letters=${40} /></code>`}${
    to && html` <${Address} value=${to} />`}${number(what.amount ?? what.value) > 0 && html` <${Amount} units=${what.amount ?? what.value} />`}`;
}

const Receipts = ({caption, receipts}) => html`
  <${Table} caption=${caption} rows=${receipts} keyOf=${({index}) => index ?? 0} columns=${[
    {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
    {title: 'handler', of: ({handler}) => html`<code><${Text} value=${handler} letters=${40} /></code>`},
    {title: 'from', of: ({sender}) => html`<${Address} value=${sender} />`},
    {title: 'caused by', of: ({origin}) => (origin && !isZero(origin) ? html`<${TransactionId} value=${origin} />` : html`<span class="muted">a fire</span>`)},
    outcome, ...money,
  ]} />`;

const Events = ({events}) => html`
  <${Table} caption="Events of this block" rows=${events.slice(0, 200)} keyOf=${({index}) => index ?? 0} columns=${[
    {title: 'topic', of: ({topic}) => html`<code class="topic"><${Text} value=${topic} letters=${64} /></code>`},
    {title: 'of', of: ({emitter}) => html`<${Address} value=${emitter} />`},
    {title: 'data', of: ({data, emitter}) => (data
      ? html`<code><${Text} value=${valueText(data, {isStored: !emitter})} letters=${120} /></code>`
      : html`<span class="muted">nothing</span>`)},
  ]} />
  ${events.length > 200 && html`<p class="note">The first 200 of ${grouped(events.length)}.</p>`}`;
