// What an execution did: its calls as a tree with what each cost, why it failed, what it
// changed, what it printed.

import {html, useState} from '../vendor/htm-preact.js';
import {big, counted, enumText, grouped, isFailed, number, visible} from './format.js';
import {
  Address, Amount, Badge, Card, Count, Height, KeyValues, Table, Text, TimerId,
} from './parts.js';
import {keyText, storedText, valueText} from './values.js';
import {linkTo} from '../views.js';

const STEPS_SHOWN = 40;

// --- failures ---

const callsOf = ({steps = []}) => steps.map(({call}) => call).filter(Boolean);

// The calls that one failure went through, outermost first: a callee that failed and was
// caught is none of them.
function failedCalls(call) {
  const found = [];
  for (let at = call; at?.error; ) {
    found.push(at);
    const above = at.error;
    at = callsOf(at).reverse().find(({error}) => error && isSameFailure(error, above));
  }
  return found;
}

function isSameFailure(below, above) {
  if (above.kind !== 'RevertError') return false;
  const [last, other] = [below.stack?.at(-1), above.stack?.at(-1)];
  return !last || !other || (last.function === other.function && last.line === other.line);
}

const lineLink = (actor, line) => linkTo('actor', actor, {line: String(line ?? 0)});

// Why an execution failed: in words, then the source lines, the deepest first. Without a
// trace the receipt knows the lines' numbers alone.
export function WhyItFailed({error, call}) {
  const calls = call ? failedCalls(call) : [];
  const deepest = calls.at(-1)?.error ?? error;
  const frames = calls.flatMap(({frames: its = []}) => its).reverse();
  return html`<${Card} title="Why it failed" class="card why">
    <p class="error"><b>${visible(deepest.kind)}</b>${deepest.message && html`: <${Text} value=${deepest.message} />`}</p>
    ${deepest.hint && html`<p class="muted">Hint: ${visible(deepest.hint)}</p>`}
    <ol class="frames">${frames.length
      ? frames.map((frame) => html`<${Frame} ...${frame} />`)
      : (error.stack ?? []).slice().reverse().map((frame) => html`<${Place} ...${frame} />`)}</ol>
  <//>`;
}

const Place = ({function: name, line, actor}) => html`<li>
  <span class="where">${visible(name)}, line ${line ?? '?'}${actor && html` of <${Address} value=${actor} />`}</span></li>`;

const Frame = ({actor, function: name, line, source, variables = []}) => html`<li>
  <p class="where">${visible(name)}, <a href=${lineLink(actor, line)}>line ${line ?? '?'}</a> of <${Address} value=${actor} /></p>
  <pre class="line"><code>${visible(source)}</code></pre>
  ${variables.length > 0 && html`<details><summary>${counted(variables.length, 'variable')}</summary>
    <${Table} caption=${`Variables of ${visible(name)}`} rows=${variables} columns=${[
      {title: 'name', of: (one) => html`<code>${visible(one.name)}</code>`},
      {title: 'value', of: (one) => html`<code><${Text} value=${one.text} /></code>`},
    ]} /></details>`}
</li>`;

// --- calls ---

const Bytes = ({value, ...rest}) => html`<${Text} value=${valueText(value, rest)} letters=${160} />`;

// The tree of calls of an execution, and what was charged before them.
export const CallTree = ({call, receipt: {cyclesUsed, cellsUsed}}) => html`
  <p class="muted entry">${grouped(big(cyclesUsed) - big(call.cycles))} cycles and ${
    grouped(big(cellsUsed) - big(call.cells))} cells were charged before any call.</p>
  <div class="scroll calls" role="region" aria-label="Calls" tabindex="0">
    <ul class="tree"><${Call} ...${call} whole=${number(cyclesUsed)} /></ul>
  </div>`;

function Call(call) {
  const {actor, handler, payload, sender, value, returned, error, whole} = call;
  const [isOpen, setOpen] = useState(true);
  const steps = call.steps ?? [];
  return html`<li class=${`call ${error ? 'failed' : ''}`}>
    <div class="said">
      ${steps.length > 0 && html`<button class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}
        aria-label=${`Steps of ${visible(handler)}`}>${isOpen ? '−' : '+'}</button>`}
      <${Address} value=${actor} />.<b>${visible(handler) || '(default handler)'}</b>(${payload && html`<${Bytes} value=${payload} />`})
      ${' '}<span class="muted">by <${Address} value=${sender} /></span>
      ${big(value) > 0n && html` with <${Amount} units=${value} />`}
      ${returned && html` <span class="muted">→</span> <${Bytes} value=${returned} />`}
      ${error && html` <${Badge} kind="failed">${visible(error.kind)}: undone<//>`}
    </div>
    <${CostBar} ...${call} />
    ${isOpen && steps.length > 0 && html`<${Steps} steps=${steps} whole=${whole} />`}
    ${call.cut > 0 && html`<p class="muted">… ${grouped(call.cut)} more, which a trace has no room for${
      number(call.cutCycles) > 0 && `, with calls of ${grouped(call.cutCycles)} cycles`}</p>`}
  </li>`;
}

// What a call cost: by itself in full colour, with what it called in light.
function CostBar({cycles = '0', cells = '0', ownCycles = '0', whole}) {
  const part = (value) => `${Math.min(100, (100 * number(value)) / (whole || 1))}%`;
  const isAlone = ownCycles === cycles;
  const own = isAlone ? '' : `, own ${grouped(ownCycles)}`;
  const told = `${grouped(cycles)} cycles${own}; ${grouped(cells)} cells`;
  return html`<div class="cost">
    <svg class="bar" width="100%" height="6" role="img" aria-label=${told}>
      <rect class="rest" width="100%" height="6" rx="3" />
      <rect class="below" width=${part(cycles)} height="6" rx="3" />
      <rect class="part" width=${part(ownCycles)} height="6" rx="3" />
    </svg>
    <span class="number muted">${told}</span>
  </div>`;
}

function Steps({steps, whole}) {
  const [shown, setShown] = useState(STEPS_SHOWN);
  return html`<ul class="tree">
    ${steps.slice(0, shown).map((step) => (step.call
      ? html`<${Call} ...${step.call} whole=${whole} />`
      : html`<li class="step"><${Step} ...${step} /></li>`))}
    ${steps.length > shown && html`<li><button class="link" onClick=${() => setShown(steps.length)}>
      show all ${grouped(steps.length)} steps</button></li>`}
  </ul>`;
}

const STEPS = {
  storage: ({key, before, after}) => html`<span class="what">writes</span> <code>${keyText(key)}</code>: <${Change} ...${{before, after}} />`,
  transfer: ({to, amount}) => html`<span class="what">pays</span> <${Amount} units=${amount} /> to <${Address} value=${to} />`,
  event: ({topic, data}) => html`<span class="what">event</span> <b><${Text} value=${topic} /></b> <${Bytes} value=${data} />`,
  timer: ({what, timerId, height, expiresAt}) => html`<span class="what">timer</span> <${TimerId} value=${timerId} /> ${visible(what)}: due at <${Height} of=${height} />, expires after ${grouped(expiresAt)}`,
  message: ({target, handler, payload, cycles}) => html`<span class="what">message</span> to <${Address} value=${target} />.<b>${visible(handler) || '(default handler)'}</b>(<${Bytes} value=${payload} />) with ${grouped(cycles)} cycles`,
  refused: ({name, reason}) => html`<span class="what">refused</span> <code>${visible(name)}</code>: <${Text} value=${reason} />`,
  printed: (printed) => html`<span class="what">prints</span> <${PrintedText} ...${printed} />`,
  upgrade: () => html`<span class="what">upgrade</span> it gave itself new code`,
};

function Step(step) {
  const [kind] = Object.keys(STEPS).filter((name) => step[name]);
  return kind ? STEPS[kind](step[kind]) : null;
}

export const Change = ({before, after}) => html`
  <span class="change"><span class="before"><${Text} value=${storedText(before)} letters=${160} /></span>
  <span class="muted"> → </span><span class="after"><${Text} value=${storedText(after)} letters=${160} /></span></span>`;

// --- what was printed ---

const PrintedText = ({level, text}) =>
  html`${level && html`<${Badge} kind=${level === 'error' ? 'failed' : ''}>${visible(level)}<//> `}<${Text} value=${text.replace(/\n$/, '')} />`;

// What an execution printed, each actor's under its name where several did.
export function Output({printed = [], cut = '0'}) {
  const isMixed = new Set(printed.map(({actor}) => actor)).size > 1;
  return html`<${Card} title="Printed">
    <ul class="printed">${printed.map((one) => html`<li>
      ${isMixed && html`<${Address} value=${one.actor} /> `}<${PrintedText} ...${one} /></li>`)}</ul>
    ${number(cut) > 0 && html`<p class="muted">${grouped(cut)} characters more were not kept.</p>`}
  <//>`;
}

// --- what was changed ---

function timerChange({before, after}) {
  if (!before) return html`scheduled, due at <${Height} of=${after.height} />`;
  if (!after) return html`gone, was due at <${Height} of=${before.height} />`;
  return html`changed, due at <${Height} of=${after.height} />`;
}

const difference = ({before, after}) => big(after) - big(before);

// What an execution changed, net, fees included.
export function Changes({storage = [], balances = [], timers = [], codes = [], cut = 0}) {
  const isNothing = !(storage.length + balances.length + timers.length + codes.length + cut);
  return html`<${Card} title="What it changed">
    ${isNothing && html`<p class="muted">Nothing.</p>`}
    ${storage.length > 0 && html`<h3>Storage</h3><${Table} caption="Changed storage" rows=${storage} columns=${[
      {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
      {title: 'key', of: ({key}) => html`<code class="key"><${Text} value=${keyText(key)} letters=${120} /></code>`},
      {title: 'before → after', of: (one) => html`<${Change} ...${one} />`},
    ]} />`}
    ${balances.length > 0 && html`<h3>Balances</h3><${Table} caption="Changed balances" rows=${balances} columns=${[
      {title: 'account', of: ({address}) => html`<${Address} value=${address} />`},
      {title: 'before', isNumber: true, of: ({before}) => html`<${Amount} units=${before} />`},
      {title: 'after', isNumber: true, of: ({after}) => html`<${Amount} units=${after} />`},
      {title: 'difference', isNumber: true, of: (one) => html`<${Amount} units=${String(difference(one))} />`},
    ]} />`}
    ${timers.length > 0 && html`<h3>Timers</h3><${Table} caption="Changed timers" rows=${timers} columns=${[
      {title: 'timer', of: ({timerId}) => html`<${TimerId} value=${timerId} />`},
      {title: 'what became of it', of: timerChange},
    ]} />`}
    ${codes.length > 0 && html`<h3>Code</h3><${Table} caption="Changed code" rows=${codes} columns=${[
      {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
      {title: 'what became of it', of: ({before}) => (before ? 'new code' : 'deployed')},
    ]} />`}
    ${cut > 0 && html`<p class="muted">${grouped(cut)} more, which the answer has no room for.</p>`}
  <//>`;
}

// --- receipts ---

export const Outcome = ({receipt}) =>
  html`<${Badge} kind=${isFailed(receipt) ? 'failed' : 'succeeded'}>${enumText(receipt.status, 'EXECUTION_STATUS_')}<//>`;

export const eventsTable = (events, caption) => html`<${Table} caption=${caption} rows=${events} columns=${[
  {title: 'index', of: ({index}) => html`<${Count} of=${index} />`},
  {title: 'emitter', of: ({emitter}) => html`<${Address} value=${emitter} />`},
  {title: 'topic', of: ({topic}) => html`<b><${Text} value=${topic} /></b>`},
  {title: 'data', of: ({data, emitter}) => html`<code><${Text} value=${data ? valueText(data, {isStored: !emitter}) : ''} letters=${300} /></code>`},
]} />`;

// What an execution paid, part by part.
export const Money = ({receipt}) => html`<${Card} title="What it cost">
  <${KeyValues} rows=${[
    ['fee', html`<${Amount} units=${receipt.fee} />`],
    ['payer', html`<${Address} value=${receipt.payer} />`],
    ['burned for cycles', html`<${Amount} units=${receipt.burnedCycle} />`],
    ['burned for cells', html`<${Amount} units=${receipt.burnedCell} />`],
    big(receipt.burnedLane) > 0n ? ['burned for the lane', html`<${Amount} units=${receipt.burnedLane} />`] : ['', null],
    ['tip', html`<${Amount} units=${receipt.tip} />`],
    ['returned', html`<${Amount} units=${receipt.refund} />`],
  ]} />
<//>`;
