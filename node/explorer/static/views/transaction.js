// A transaction: what became of it, its calls with what each cost, what it changed, and
// why it failed.

import {html} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {big, bytesOf, counted, fromHex, grouped, isFailed, spaced, visible} from '../lib/format.js';
import {useLive} from '../lib/live.js';
import {
  Address, Amount, Answer, Badge, Card, Copy, Empty, Gone, Hash, Height, KeyValues, Price, Text, Title, Use,
} from '../lib/parts.js';
import {useIsGone, useRefreshed} from '../lib/refreshed.js';
import {CallTree, Changes, Money, Outcome, Output, WhyItFailed, eventsTable} from '../lib/trace.js';
import {valueText} from '../lib/values.js';

export default function Transaction({id}) {
  const bytes = fromHex(id);
  const answer = useRefreshed((signal) => ask('QueryService/GetTransaction', {id: bytes}, signal), [id]);
  const {rewound} = useLive();
  const isGone = useIsGone(answer);
  const heading = html`<${Title} aside=${html`<span class="hex">${visible(id)}</span> <${Copy} text=${id} what="the id" />`}>Transaction<//>`;
  if (isGone) return html`${heading}<${Gone} what="This transaction" rewound=${rewound} />`;
  if (answer.error?.code === 'not_found') return html`${heading}<${Unknown} />`;
  return html`${heading}<${Answer} answer=${answer} what="for the transaction">${(data) => html`<${Found} ...${data} id=${bytes} />`}<//>`;
}

const Unknown = () => html`<${Empty} command="cowboy-devnet block latest">
  No transaction of this chain has this id. A block lists the ids of its transactions:<//>`;

function Found({committed, pending, dropped, id}) {
  if (committed) return html`<${Committed} ...${committed} id=${id} />`;
  if (pending) return html`<${Pending} transaction=${pending} />`;
  if (dropped) return html`<${Dropped} ...${dropped} />`;
  return html`<div class="failure" role="alert"><p><b>This transaction was undone.</b></p>
    <p>The chain was taken back to before the block that it was in.</p></div>`;
}

const Pending = ({transaction}) => html`<div class="stack">
  <p><${Badge} kind="pending">waits in the pool<//> It is in no block yet.</p>
  <${Asked} transaction=${transaction} /></div>`;

const Dropped = ({reason, message, metadata = {}}) => html`<div class="failure" role="alert">
  <p><${Badge} kind="lost">dropped<//> It left the pool without entering a block; nothing was charged.</p>
  <p><${Text} value=${message} /> <code>${visible(reason)}</code></p>
  <${KeyValues} rows=${Object.entries(metadata).map(([name, value]) => [visible(name), visible(value)])} />
</div>`;

function Committed({transaction, block, index, receipt, events = [], id}) {
  const trace = useAnswer(
    (signal) => ask('QueryService/TraceTransaction', {id}, signal), [id, block.hash]);
  return html`<div class="stack">
    <${Summary} ...${{transaction, block, index, receipt}} />
    ${isFailed(receipt) && html`<${WhyItFailed} error=${receipt.error} call=${trace.data?.trace.call} />`}
    ${receipt.hint && html`<p class="notice"><b>Hint:</b> ${visible(receipt.hint)}</p>`}
    <${Card} title="What it did" aside="each call, with all that it did in order">
      <${Answer} answer=${trace} what="the node to execute it again">${({trace: found}) => (found.call
        ? html`<${CallTree} call=${found.call} receipt=${receipt} />`
        : html`<p class="muted">It called no handler.</p>`)}<//>
    <//>
    ${trace.data && html`<${Changes} ...${trace.data.trace.changes} />`}
    ${events.length > 0 && html`<${Card} title="Events" aside=${counted(events.length, 'event')}>
      ${eventsTable(events, 'Events of the transaction')}<//>`}
    ${receipt.output?.printed?.length > 0 && html`<${Output} ...${receipt.output} />`}
    <div class="grid"><${Money} receipt=${receipt} /><${Asked} transaction=${transaction} /></div>
  </div>`;
}

const Summary = ({transaction, block, index, receipt}) => html`
  <${Card} title="Outcome" aside=${html`<${Outcome} receipt=${receipt} />`}>
    <${KeyValues} rows=${[
      ['height', html`<${Height} of=${block.height} />`],
      ['index in the block', grouped(index ?? 0)],
      ['sender', html`<${Address} value=${transaction.sender} />`],
      ['actor', receipt.actor && html`<${Address} value=${receipt.actor} />`],
      ['handler', receipt.handler && html`<code>${visible(receipt.handler)}</code>`],
      ['fee', html`<${Amount} units=${receipt.fee} />`],
      ['returned value', receipt.value && html`<code><${Text} value=${valueText(receipt.value)} letters=${160} /></code>`],
    ]} />
    <div class="grid uses">
      <${Use} name="cycles" used=${receipt.cyclesUsed ?? 0} whole=${receipt.cyclesLimit ?? 0} kind="user" />
      <${Use} name="cells" used=${receipt.cellsUsed ?? 0} whole=${receipt.cellsLimit ?? 0} unit="cells" kind="deferred" />
    </div>
  <//>`;

// --- what was asked ---

const FIELDS = {
  to: (value) => html`<${Address} value=${value} />`,
  actor: (value) => html`<${Address} value=${value} />`,
  amount: (value) => html`<${Amount} units=${value} />`,
  value: (value) => html`<${Amount} units=${value} />`,
  timerId: (value) => html`<${Hash} value=${value} />`,
  salt: (value) => html`<${Hash} value=${value} />`,
  key: (value) => html`<code><${Text} value=${valueText(value)} /></code>`,
  payload: (value) => html`<code><${Text} value=${valueText(value)} letters=${300} /></code>`,
  code: (value) => html`<details><summary>${counted(bytesOf(value).length, 'byte')}</summary><pre class="source-text"><code>${sourceText(value)}</code></pre></details>`,
};

const sourceText = (base64) => visible(new TextDecoder().decode(bytesOf(base64)));

// The instruction with its fields, and what its sender would pay at most.
function Asked({transaction}) {
  const {body = {}} = transaction;
  const [[kind, fields] = ['nothing', {}]] = Object.entries(body.instruction ?? {});
  const shown = Object.entries(fields).filter(([, value]) => typeof value === 'string' && value !== '0');
  return html`<${Card} title="What was asked" aside=${transaction.isImpersonated && 'sent without a signature'}>
    <${KeyValues} rows=${[
      ['instruction', visible(spaced(kind))],
      ...shown.map(([name, value]) => [spaced(name), FIELDS[name]?.(value) ?? html`<${Text} value=${value} />`]),
      ['nonce', grouped(body.nonce ?? 0)],
      ['most for a cycle', html`<${Price} units=${body.maxFeePerCycle} />`],
      big(body.maxPriorityFeePerCycle) ? ['tip for a cycle', html`<${Price} units=${body.maxPriorityFeePerCycle} />`] : ['', null],
      ['most for a cell', html`<${Price} units=${body.maxFeePerCell} per="cell" />`],
    ]} />
  <//>`;
}

