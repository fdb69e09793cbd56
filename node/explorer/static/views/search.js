// Search: what an address, a label, an id or a height is, and where it is shown.

import {html, useEffect} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {enumText, fromHex, grouped, hex, visible} from '../lib/format.js';
import {labelOf, labelled} from '../lib/labels.js';
import {useLive} from '../lib/live.js';
import {
  Address, Amount, Answer, Badge, Card, Count, Empty, Height, KeyValues, TimerId, Title, TransactionId,
} from '../lib/parts.js';
import {linkTo} from '../views.js';

const HEIGHT = /^[\d,_]{1,26}$/;
const ADDRESS = /^(0x)?[0-9a-f]{40}$/i;
const ID = /^(0x)?[0-9a-f]{64}$/i;

export default function Search({text = ''}) {
  const {rewinds} = useLive();
  const wanted = text.trim();
  const answer = useAnswer((signal) => lookUp(wanted, signal), ['search', wanted, rewinds]);
  if (!wanted) return html`<${Title}>Search<//><${Kinds} />`;
  return html`<${Title}>Search: ${visible(wanted.slice(0, 80))}<//>
    <${Answer} answer=${answer}>${(found) => html`<${Found} found=${found} />`}<//>`;
}

const Kinds = () => html`<${Empty}>Type a height such as <code>1,000</code>, an address (40 hex digits), the id of a
  transaction, a timer or a block (64 hex digits), or a name that you gave to an address.<//>`;

function Found({found}) {
  const only = found.length === 1 && found[0].to;
  useEffect(() => {
    if (only) location.replace(only);
  }, [only]);
  if (!found.length) {
    return html`<${Empty}>Nothing of this chain has this name. A transaction that is not sent yet, and what a rewind
      took away, cannot be found.<//><${Kinds} />`;
  }
  if (only) return null;
  return html`<div class="stack">${found.map(({kind, Shown, value}) => html`
    <${Card} key=${kind} title=${kind}><${Shown} ...${value} /><//>`)}</div>`;
}

// Everything that the text may mean.
async function lookUp(text, signal) {
  if (HEIGHT.test(text)) return [await byHeight(text.replace(/[,_]/g, ''), signal)];
  if (ADDRESS.test(text)) return [await byAddress(text, signal)];
  if (ID.test(text)) return byId(fromHex(text), signal);
  return Promise.all(labelled(text).slice(0, 20).map((address) => byAddress(address, signal)));
}

async function byHeight(height, signal) {
  const {head} = await ask('QueryService/GetStatus', {}, signal);
  if (BigInt(height) > BigInt(head.height ?? 0)) {
    return {kind: `Height ${grouped(BigInt(height))}`, Shown: Ahead, value: {height, head}};
  }
  return {kind: `Block ${grouped(height)}`, to: linkTo('block', height), Shown: Block, value: {height}};
}

const Block = ({height}) => html`<${Height} of=${height} />`;

const Ahead = ({height, head}) => html`<p>The chain is at height <${Height} of=${head.height} />:
  this one is ${grouped(BigInt(height) - BigInt(head.height ?? 0))} blocks ahead.</p>
  <p><a href=${linkTo('calendar', '', {at: height})}>What is due there</a></p>`;

async function byAddress(text, signal) {
  const digits = `0x${text.replace(/^0x/i, '').toLowerCase()}`;
  const account = await ask('QueryService/GetAccount', {address: fromHex(digits)}, signal);
  const kind = `${account.isActor ? 'Actor' : 'Account'} ${labelOf(digits)}`;
  return {kind, to: linkTo('actor', digits), Shown: Account, value: {account}};
}

const Account = ({account: {address, balance, nonce}}) => html`<${KeyValues} rows=${[
  ['address', html`<${Address} value=${address} isWhole />`],
  ['balance', html`<${Amount} units=${balance} />`],
  ['nonce', html`<${Count} of=${nonce} />`],
]} />`;

async function byId(id, signal) {
  const none = (error) => {
    if (['not_found', 'failed_precondition', 'out_of_range'].includes(error.code)) return null;
    throw error;
  };
  const [transaction, timer, block] = await Promise.all([
    ask('QueryService/GetTransaction', {id}, signal).catch(none),
    ask('TimerService/GetTimer', {timerId: id}, signal).catch(none),
    ask('QueryService/GetBlock', {hash: id, view: 'BLOCK_VIEW_HEADER'}, signal).catch(none),
  ]);
  const digits = hex(id);
  const found = [];
  if (transaction) {
    found.push({kind: 'Transaction', to: linkTo('transaction', digits), Shown: Transaction, value: {id, ...transaction}});
  }
  if (timer) found.push({kind: 'Timer', to: linkTo('timer', digits), Shown: Timer, value: {timer: timer.timer}});
  if (block) {
    const height = block.block.header.height ?? '0';
    found.push({kind: 'Block', to: linkTo('block', height), Shown: Block, value: {height}});
  }
  return found;
}

const Transaction = ({id, committed, pending, dropped, reverted}) => html`<${KeyValues} rows=${[
  ['id', html`<${TransactionId} value=${id} />`],
  ['outcome', committed ? 'in a block' : pending ? 'waits in the pool' : dropped ? visible(dropped.message) : reverted && 'undone by a rewind'],
  ['block', committed && html`<${Height} of=${committed.block.height} />`],
  ['sender', (committed?.transaction ?? pending)?.sender && html`<${Address} value=${(committed?.transaction ?? pending).sender} />`],
]} />`;

const Timer = ({timer}) => html`<${KeyValues} rows=${[
  ['id', html`<${TimerId} value=${timer.id} />`],
  ['status', html`<${Badge}>${enumText(timer.status, 'TIMER_STATUS_')}<//>`],
  ['due at', html`<${Height} of=${timer.height} />`],
  ['actor', html`<${Address} value=${timer.actor} />`],
]} />`;
