// An actor: what it is worth and for how many fires that lasts, its source with what each
// line costs, what it stores and stored, its timers, who calls it, the code it had.

import {html, useState} from '../vendor/htm-preact.js';
import {ask, follow, useAnswer} from '../lib/api.js';
import {useCosts} from '../lib/costs.js';
import {callers} from '../lib/flame.js';
import {big, bytesOf, counted, enumText, fromHex, grouped, hex, isZero, number, percent, visible} from '../lib/format.js';
import {giveLabel, labelOf, labels} from '../lib/labels.js';
import {instead, useLive} from '../lib/live.js';
import {
  Address, Amount, Answer, Card, Copy, Count, Empty, Gone, Hash, Height, KeyValues, Table, Text, TimerId, Title,
  TransactionId,
} from '../lib/parts.js';
import {useIsGone, useRefreshed} from '../lib/refreshed.js';
import {Source} from '../lib/source.js';
import {useStore} from '../lib/store.js';
import {Change} from '../lib/trace.js';
import {keyText, storedText} from '../lib/values.js';
import {linkTo} from '../views.js';

const TIMERS_SHOWN = 20;
const ENTRIES_A_PAGE = 50;
const CHANGES_SHOWN = 200;

export default function Actor({address, query}) {
  const bytes = fromHex(address);
  const answer = useRefreshed((signal) => found(bytes, signal), [address]);
  const {rewound} = useLive();
  useStore(labels);
  const name = labelOf(address);
  const kind = answer.data && !answer.data.actor ? 'Account' : 'Actor';
  const heading = html`<${Title} aside=${html`<span class="hex">${visible(address)}</span> <${Copy} text=${address} what="the address" />`}>
    ${name ? `${name} ` : ''}${name ? html`<span class="muted">${kind.toLowerCase()}</span>` : kind}<//>`;
  if (useIsGone(answer)) return html`${heading}<${Gone} what="This actor" rewound=${rewound} />`;
  return html`${heading}<${Answer} answer=${answer} what="for the account">${(data) => (data.actor
    ? html`<${Known} ...${data} address=${address} bytes=${bytes} line=${number(query.get('line'))} />`
    : html`<div class="stack"><${Account} ...${data.account} digits=${address} /><${Naming} address=${address} /></div>`)}<//>`;
}

// The account, and the actor if it is one.
async function found(address, signal) {
  const account = await ask('QueryService/GetAccount', {address}, signal);
  const actor = account.isActor ? await ask('QueryService/GetActor', {address}, signal) : null;
  return {account, actor};
}

const Account = ({balance, nonce, nextNonce, digits}) => html`<${Card} title="What it has">
  <${KeyValues} rows=${[
    ['balance', html`<${Amount} units=${balance} />`],
    ['nonce', grouped(nonce ?? 0)],
    nextNonce !== nonce ? ['next nonce, with the pool', grouped(nextNonce ?? 0)] : ['', null],
  ]} />
  ${!big(balance) && !number(nonce) && html`<${Empty} command=${`cowboy-devnet faucet ${digits} '5 CBY'`}>Nobody has used this address yet. To give it something:<//>`}
<//>`;

function Naming({address}) {
  const [wrong, setWrong] = useState('');
  const submit = (event) => {
    event.preventDefault();
    setWrong(giveLabel(address, new FormData(event.target).get('name')));
  };
  return html`<form class="fields naming" onSubmit=${submit}>
    <label>Name on this page, in this browser only
      <input name="name" autocomplete="off" spellcheck="false" maxlength="64" defaultValue=${labelOf(address)} /></label>
    <button>Call it that</button>
    ${wrong && html`<p class="error" role="alert">${visible(wrong)}</p>`}</form>`;
}

function Known({actor, address, bytes, line}) {
  const costs = useCosts({actor: bytes});
  const own = (costs.actors ?? []).find(({actor: whose, codeHash}) => whose === bytes && codeHash === actor.codeHash);
  const source = new TextDecoder().decode(bytesOf(actor.source));
  return html`<div class="stack">
    <div class="grid"><${Facts} actor=${actor} address=${address} /><${Lasting} bytes=${bytes} mark=${actor.balance} /></div>
    <${Card} title="Source" aside=${html`<${CostsTold} ...${costs} own=${own} />`}>
      <${Source} source=${source} marked=${line} costs=${own && new Map(own.lines.map((cost) => [cost.line ?? 0, cost]))} />
    <//>
    <${Storage} bytes=${bytes} />
    <div class="grid">
      <${Timers} bytes=${bytes} count=${actor.liveTimers ?? 0} />
      <${Callers} costs=${costs} bytes=${bytes} />
      <${Versions} versions=${actor.versions ?? []} now=${actor.codeHash} />
    </div>
  </div>`;
}

const Facts = ({actor, address}) => html`<${Card} title="What it is">
  <${KeyValues} rows=${[
    ['balance', html`<${Amount} units=${actor.balance} />`],
    ['deployer', html`<${Address} value=${actor.deployer} />`],
    ['live timers', grouped(actor.liveTimers ?? 0)],
    ['messages that wait', grouped(actor.mailboxLength ?? 0)],
    ['timers ever scheduled', grouped(actor.schedulingCounter ?? 0)],
    ['hash of its code', html`<${Hash} value=${actor.codeHash} />`],
  ]} />
  <h3>Handlers</h3>
  <p class="handlers">${(actor.handlers ?? []).map((name) => html`<code>${visible(name)}</code> `)}</p>
  <${Naming} address=${address} />
<//>`;

// For how many fires its balance lasts: at the most that one may cost now.
function Lasting({bytes, mark}) {
  const answer = useRefreshed((signal) => ask('TimerService/QuoteTimer', {actor: bytes}, signal), [bytes, mark]);
  return html`<${Card} title="How long it lasts" aside="at the prices of the next block">
    <${Answer} answer=${answer} what="for a quote">${(quote) => html`
      <p class="big"><b class="number">${grouped(quote.firesFree ?? 0)}</b> fires at full cost, beside its pending timers</p>
      <${KeyValues} rows=${[
        ['balance', html`<${Amount} units=${quote.balance} />`],
        ['one fire, at most', html`<${Amount} units=${quote.maxCost} />`],
        ['fires in all', grouped(quote.firesCovered ?? 0)],
        ['set aside when its timers fire', html`<${Amount} units=${quote.pendingCost} />`],
        ['such fires fill a block', grouped(quote.firesABlock ?? 0)],
        number(quote.weightPpm) ? ['weight', `${number(quote.weightPpm) / 1e6}`] : ['', null],
      ]} />
      <details><summary>in sentences</summary><p class="sentences"><${Text} value=${quote.text} letters=${4000} /></p></details>`}<//>
  <//>`;
}

// --- cost ---

function CostsTold({isAsked, isStopped, progress, summary, error, own, end}) {
  if (error) return html`costs: <${Text} value=${error.message} />`;
  if (isStopped) return 'costs were not counted';
  if (summary) return html`<${Range} ...${summary} own=${own} />`;
  if (!isAsked) return null;
  const told = progress ? `executing block ${grouped(progress.height)} of ${grouped(progress.toHeight)} again` : 'counting costs';
  return html`<span role="status">${told}…</span> <button class="link" onClick=${end}>stop</button>`;
}

const Range = ({firstHeight, lastHeight, own}) => html`
  ${own ? `${grouped(own.cycles)} cycles` : 'it did not run'} in heights ${grouped(firstHeight)} to ${grouped(lastHeight)}`;

function Callers({costs, bytes}) {
  const rows = costs.root ? callers(costs.root, bytes) : [];
  const whole = rows.reduce((sum, {cost}) => sum + cost, 0n);
  return html`<${Card} title="Who calls it" aside=${html`<a href=${linkTo('flame', '', {actor: hex(bytes)})}>its flame graph</a>`}>
    ${!costs.root ? html`<p class="muted">${costs.error ? 'Not known.' : 'Counted with the costs.'}</p>`
      : rows.length ? html`<${Table} caption="Its callers" rows=${rows} keyOf=${({key}) => key} columns=${[
        {title: 'caller', of: ({actor, key}) => (actor ? html`<${Address} value=${actor} />` : key)},
        {title: 'functions', of: (row) => [...row.functions].slice(0, 5).map((name) => html`<code>${visible(name)}</code> `)},
        {title: 'cycles', isNumber: true, of: ({cost}) => grouped(cost)},
        {title: 'share', isNumber: true, of: ({cost}) => percent(cost, whole)},
      ]} />` : html`<p class="muted">Nobody did in these heights.</p>`}
  <//>`;
}

// --- storage ---

function Storage({bytes}) {
  const [pages, setPages] = useState(1);
  const [past, setPast] = useState(null);
  const answer = useRefreshed((signal) => entriesOf(bytes, pages, signal), [bytes, pages]);
  return html`<${Card} title="Storage" aside=${html`<button class="link" onClick=${() => setPast({})}>its past</button>`}>
    <${Answer} answer=${answer} what="for storage">${({entries, isMore}) => html`
      ${entries.length ? html`<${Table} caption="Entries of its storage" rows=${entries} keyOf=${({key}) => key} columns=${[
        {title: 'key', of: ({key}) => html`<code class="key"><${Text} value=${keyText(key)} letters=${120} /></code>`},
        {title: 'value', of: ({value}) => html`<code><${Text} value=${storedText(value)} letters=${300} /></code>`},
        {title: html`<span class="unseen">its past</span>`, of: ({key}) => html`<button class="link" onClick=${() => setPast({key})} aria-label=${`past of ${keyText(key)}`}>past</button>`},
      ]} />` : html`<p class="muted">It stores nothing.</p>`}
      ${isMore && html`<p><button onClick=${() => setPages(pages + 1)}>Show more</button></p>`}`}<//>
    ${past && html`<${Past} bytes=${bytes} wanted=${past.key} />`}
  <//>`;
}

async function entriesOf(actor, pages, signal) {
  const entries = [];
  let pageToken = '';
  for (let page = 0; page < pages; page += 1) {
    const request = {actor, pageSize: ENTRIES_A_PAGE, pageToken};
    const answer = await ask('QueryService/ListStorage', request, signal);
    entries.push(...(answer.entries ?? []));
    pageToken = answer.nextPageToken ?? '';
    if (!pageToken) break;
  }
  return {entries, isMore: Boolean(pageToken)};
}

const ENDS = {
  HISTORY_STOP_COMPLETE: 'This is all.',
  HISTORY_STOP_BOUND: 'There is more below height',
  HISTORY_STOP_NOT_KEPT: 'The node keeps no states below height',
};

async function changesOf(actor, key, signal) {
  const changes = [];
  let end = null;
  const request = {actor, prefix: key ?? '', changes: CHANGES_SHOWN};
  for await (const told of follow('QueryService/StreamStorageHistory', request, signal)) {
    if (told.change && (!key || told.change.key === key)) changes.push(told.change);
    if (told.end) end = told.end;
  }
  return {changes, end};
}

// What it stored before, the latest change first; of one key if one is wanted.
function Past({bytes, wanted}) {
  const answer = useAnswer(
    (signal) => instead((other) => changesOf(bytes, wanted, AbortSignal.any([signal, other]))), [bytes, wanted]);
  return html`<h3>${wanted ? html`The past of <code><${Text} value=${keyText(wanted)} letters=${120} /></code>` : 'Its past'}, the latest change first</h3>
    <${Answer} answer=${answer} what="the node to execute blocks again">${({changes, end}) => html`
      ${changes.length > 0 && html`<${Table} caption="Past of the storage" rows=${changes} columns=${[
        {title: 'height', isNumber: true, of: ({height}) => html`<${Height} of=${height} />`},
        {title: 'key', of: ({key}) => html`<code class="key"><${Text} value=${keyText(key)} letters=${80} /></code>`},
        {title: 'before → after', of: (one) => html`<${Change} ...${one} />`},
        {title: 'by', of: (one) => html`<${Cause} ...${one} />`},
      ]} />`}
      <p class="muted">${changes.length ? '' : 'No change was found. '}${ENDS[end?.stop] ?? ''}${
        end && end.stop !== 'HISTORY_STOP_COMPLETE' && html` ${grouped(end.nextToHeight ?? 0)}.`}</p>`}<//>`;
}

function Cause({kind, id, origin, handler}) {
  const what = enumText(kind, 'RECEIPT_KIND_');
  const link = kind === 'RECEIPT_KIND_FIRE' ? html`<${TimerId} value=${id} />`
    : origin && !isZero(origin) && html`<${TransactionId} value=${origin} />`;
  return html`${what} ${link} <code>${visible(handler)}</code>`;
}

// --- timers, code ---

function Timers({bytes, count}) {
  const request = {actor: bytes, pageSize: TIMERS_SHOWN};
  const answer = useRefreshed((signal) => ask('TimerService/ListTimers', request, signal), [bytes]);
  return html`<${Card} title="Timers" aside=${counted(count, 'live timer')}>
    <${Answer} answer=${answer} what="for timers">${({timers = []}) => (timers.length
      ? html`<${Table} caption="Its pending timers" rows=${timers} keyOf=${({id}) => id} columns=${[
        {title: 'timer', of: ({id}) => html`<${TimerId} value=${id} />`},
        {title: 'due at', isNumber: true, of: ({height}) => html`<${Height} of=${height} />`},
        {title: 'limit', isNumber: true, of: ({record}) => html`<${Count} of=${record.gasLimit} />`},
        {title: 'payload', of: ({record}) => html`<code><${Text} value=${record.payload ? storedText(record.payload) : ''} letters=${60} /></code>`},
      ]} />` : html`<${Empty}>It has no timer. An actor schedules one with <code>pvm_host.schedule_timer</code>.<//>`)}<//>
  <//>`;
}

const Versions = ({versions, now}) => html`<${Card} title="Its code over time" aside=${counted(versions.length, 'version')}>
  <${Table} caption="Versions of its code" rows=${[...versions].reverse()} columns=${[
    {title: 'from height', isNumber: true, of: ({height}) => html`<${Height} of=${height} />`},
    {title: 'hash of the code', of: ({codeHash}) => html`<${Hash} value=${codeHash} />`},
    {title: 'state', of: ({codeHash}) => (codeHash === now ? 'in force' : 'before')},
  ]} />
<//>`;

