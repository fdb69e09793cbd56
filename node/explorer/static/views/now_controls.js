// The buttons of a development chain. Each says what came of it.

import {html, useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {ask, follow, useAnswer} from '../lib/api.js';
import {counted, fromHex, grouped, number, parseAmount, visible} from '../lib/format.js';
import {addressNamed} from '../lib/labels.js';
import {instead, refresh, useLive} from '../lib/live.js';
import {Card, Count, Failure, Height, Table, Text} from '../lib/parts.js';

const IDLE_BLOCKS_MAX = 1000;

export function Controls({status}) {
  const [said, setSaid] = useState(null);
  const [running, setRunning] = useState(null);
  const act = async (name, work) => {
    setRunning({name});
    setSaid(null);
    try {
      setSaid({text: await work((progress) => setRunning({name, progress}))});
    } catch (error) {
      if (error.name !== 'AbortError') setSaid({error});
    }
    setRunning(null);
    refresh().catch(() => {});
  };
  const isBusy = running !== null;
  return html`<${Card} title="This is a development chain">
    <div class="buttons">
      <button class="main" disabled=${isBusy} onClick=${() => act('Mining', () => mine(1))}>Mine a block</button>
      <button disabled=${isBusy} onClick=${() => act('Mining', () => mine(10))}>Mine ten</button>
      <button disabled=${isBusy} onClick=${() => act('Advancing', (tell) => advance({nextTimer: true}, tell))}>To the next timer</button>
      <button disabled=${isBusy} onClick=${() => act('Advancing', (tell) => advance({untilIdle: {blocksMax: IDLE_BLOCKS_MAX}}, tell))}
        title=${`until nothing waits, through ${grouped(IDLE_BLOCKS_MAX)} blocks at most`}>Until idle</button>
      <${Hold} status=${status} />
    </div>
    <div class="grid">
      <${Fund} act=${act} isBusy=${isBusy} />
      <${Advance} act=${act} isBusy=${isBusy} />
    </div>
    <div aria-live="polite">
      ${running && html`<p class="note">${running.name}… ${running.progress ?? ''}</p>`}
      ${said?.text && html`<p class="note">${said.text}</p>`}
    </div>
    ${said?.error && html`<${Failure} error=${said.error} />`}
    <${Snapshots} act=${act} isBusy=${isBusy} />
  <//>`;
}

async function mine(blocks) {
  const {head} = await ask('DevService/Mine', {blocks});
  return html`The head is block <${Height} of=${head.height} />.`;
}

function advance(target, tell) {
  return instead(async (signal) => {
    let last = null;
    for await (const message of follow('DevService/Advance', target, signal)) {
      last = message;
      tell(`at height ${grouped(message.head?.height)} of ${grouped(message.stopHeight)} at the latest`);
    }
    const {fires, putOff, expired, removedInsufficientFunds: removed} = last.summary ?? {};
    const lost = number(expired) + number(removed);
    return html`The head is block <${Height} of=${last.head.height} />: ${counted(fires ?? 0, 'fire')}, ${
      counted(putOff ?? 0, 'put-off')}, ${counted(lost, 'loss', 'losses')} on the way.`;
  });
}

// Time stands still for as long as this tab keeps a stream open.
function Hold({status}) {
  const [stop, setStop] = useState(null);
  const [error, setError] = useState(null);
  const current = useRef(null);
  useEffect(() => () => current.current?.(), []);
  const hold = () => {
    setError(null);
    instead(async (signal) => {
      const ended = new AbortController();
      current.current = () => ended.abort();
      setStop(() => () => ended.abort());
      const either = AbortSignal.any([signal, ended.signal]);
      for await (const _ of follow('DevService/HoldTime', {}, either)) continue;
    }).catch((problem) => problem.name !== 'AbortError' && setError(problem))
      .finally(() => {
        current.current = null;
        setStop(null);
      });
  };
  const others = number(status.timeHolds) - (stop ? 1 : 0);
  return html`
    <button aria-pressed=${stop !== null} onClick=${stop ?? hold}
      title="No block is made just to let time pass, while this tab shows this view">${stop ? 'Let time go on' : 'Hold time'}</button>
    ${others > 0 && html`<span class="muted">held by ${counted(others, 'other')}</span>`}
    ${error && html`<${Failure} error=${error} />`}`;
}

function addressOf(text) {
  const digits = /^0x[0-9a-f]{40}$/i.test(text.trim()) ? text : addressNamed(text);
  return digits ? fromHex(digits) : null;
}

function Form({onSubmit, children}) {
  const submit = (event) => {
    event.preventDefault();
    onSubmit(Object.fromEntries(new FormData(event.target)));
  };
  return html`<form class="fields" onSubmit=${submit}>${children}</form>`;
}

function Fund({act, isBusy}) {
  const submit = ({to, amount}) => act('Funding', async () => {
    const address = addressOf(to);
    const units = parseAmount(amount);
    if (!address) throw new Error('To whom? Give an address of 40 hex digits, or a name.');
    if (!units) throw new Error('How much? Write 5 CBY, or base units.');
    const {committed} = await ask('DevService/Fund', {to: address, amount: units});
    return html`Minted, in block <${Height} of=${committed.block.height} />.`;
  });
  return html`<${Form} onSubmit=${submit}>
    <label>Fund <input name="to" placeholder="0x… or account 0" required /></label>
    <label>Amount <input name="amount" placeholder="5 CBY" required /></label>
    <button disabled=${isBusy}>Fund</button><//>`;
}

function Advance({act, isBusy}) {
  const submit = ({blocks}) => act('Advancing', (tell) => {
    const count = blocks.replace(/[,_\s]/g, '');
    if (!/^[1-9]\d{0,18}$/.test(count)) throw new Error('How many? Give a number of blocks.');
    return advance({blocks: count}, tell);
  });
  return html`<${Form} onSubmit=${submit}>
    <label>Advance by blocks <input name="blocks" inputmode="numeric" placeholder="1,000" required /></label>
    <button disabled=${isBusy}>Advance</button><//>`;
}

function Snapshots({act, isBusy}) {
  const {rewinds} = useLive();
  const answer = useAnswer((signal) => ask('DevService/ListSnapshots', {}, signal), ['snapshots', rewinds]);
  const create = ({name}) => act('Keeping', async () => {
    const {snapshot} = await ask('DevService/CreateSnapshot', {name: name.trim()});
    answer.reload();
    return `Height ${grouped(snapshot.block.height)} can be returned to as ${visible(snapshot.name)}.`;
  });
  const revert = (name) => act('Going back', async () => {
    const {head: back} = await ask('DevService/RevertToSnapshot', {name});
    answer.reload();
    return html`The chain was taken back to height <${Height} of=${back.height} />.`;
  });
  const forget = (name) => act('Deleting', async () => {
    await ask('DevService/DeleteSnapshot', {name});
    answer.reload();
    return `Snapshot ${visible(name)} is deleted.`;
  });
  const {snapshots = []} = answer.data ?? {};
  return html`<details open=${snapshots.length > 0}>
    <summary>Snapshots: heights to return to</summary>
    <${Form} onSubmit=${create}>
      <label>Name <input name="name" placeholder="before-the-attack" maxlength="64" required /></label>
      <button disabled=${isBusy}>Keep this height</button><//>
    ${answer.error && html`<${Failure} error=${answer.error} again=${answer.reload} />`}
    ${snapshots.length > 0 && html`<${Table} caption="Snapshots" rows=${snapshots} keyOf=${({name}) => name} columns=${[
      {title: 'name', of: ({name}) => html`<${Text} value=${name} />`},
      {title: 'height', isNumber: true, of: ({block}) => html`<${Height} of=${block.height} />`},
      {title: 'in its pool', isNumber: true, of: ({waiting}) => html`<${Count} of=${waiting} />`},
      {title: '', isNumber: true, of: ({name}) => html`<span class="buttons">
        <button disabled=${isBusy} onClick=${() => revert(name)}>Go back there</button>
        <button disabled=${isBusy} onClick=${() => forget(name)} aria-label=${`Delete snapshot ${visible(name)}`}>Delete</button></span>`},
    ]} />`}
  </details>`;
}
