// Cycles by call stack over a range of heights: boxes as wide as what they cost, each on
// what called it, and the same as a table.

import {html, useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {useCosts} from '../lib/costs.js';
import {find, functions, layout} from '../lib/flame.js';
import {counted, fromHex, grouped, number, percent, visible} from '../lib/format.js';
import {Address, Card, Empty, Failure, Table, Title} from '../lib/parts.js';
import {linkTo} from '../views.js';

const LEAST = 0.002;
const HUES = 6;
const ROWS_SHOWN = 25;
const UNITS = ['cycles', 'cells'];

export default function Flame({query}) {
  const [from, to, actor] = ['from', 'to', 'actor'].map((name) => query.get(name) ?? '');
  const unit = UNITS.includes(query.get('unit')) ? query.get('unit') : 'cycles';
  const request = {
    ...(/^\d+$/.test(from) && {fromHeight: from}),
    ...(/^\d+$/.test(to) && {toHeight: to}),
    ...(fromHex(actor) && {actor: fromHex(actor)}),
  };
  const costs = useCosts(request, unit);
  return html`
    <${Title} aside="what executions cost, by call stack">Flame<//>
    <div class="stack">
      <${Range} key=${String(query)} ...${{from, to, actor, unit}} />
      <${Told} ...${costs} unit=${unit} />
      ${costs.root && (costs.root.total > 0n ? html`<${Graph} root=${costs.root} unit=${unit} />` : html`<${Nothing} />`)}
    </div>`;
}

function Range({from, to, actor, unit}) {
  const submit = (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value.trim()));
    location.hash = linkTo('flame', '', given);
  };
  return html`<${Card} title="Which blocks"><form class="fields" onSubmit=${submit}>
    <label>From height <input name="from" inputmode="numeric" pattern="\\d*" defaultValue=${from} placeholder="the oldest kept" /></label>
    <label>To height <input name="to" inputmode="numeric" pattern="\\d*" defaultValue=${to} placeholder="the head" /></label>
    <label>Actor <input name="actor" defaultValue=${actor} placeholder="all" spellcheck="false" /></label>
    <label>Count <select name="unit">${UNITS.map((name) => html`<option selected=${name === unit}>${name}</option>`)}</select></label>
    <button class="main">Count</button></form><//>`;
}

function Told({isAsked, isStopped, progress, summary, error, end, unit, root}) {
  if (error) return html`<${Failure} error=${error} />`;
  if (isStopped) return html`<p class="note">Stopped: nothing was counted.</p>`;
  if (!summary) {
    return isAsked && html`<p class="note" role="status">${progress
      ? `Executing block ${grouped(progress.height)} of ${grouped(progress.toHeight)} again…` : 'Asking the node to execute blocks again…'}
      ${' '}<button class="link" onClick=${end}>stop</button></p>`;
  }
  const {firstHeight, lastHeight, executions, isComplete} = summary;
  const uncounted = number(summary[unit === 'cycles' ? 'uncountedCycles' : 'uncountedCells']);
  return html`<p class="note">Heights ${grouped(firstHeight ?? 0)} to ${grouped(lastHeight ?? 0)}:
    ${' '}<b>${grouped(summary[unit] ?? 0)} ${unit}</b> in ${grouped(executions ?? 0)} executions.
    ${' '}${grouped(root.total)} were for calls, which are shown here, and ${grouped(root.before)} were paid before any call.
    ${uncounted > 0 && ` ${grouped(uncounted)} are of executions too large to be counted by line.`}
    ${!isComplete && html` The work became too much; <a href=${linkTo('flame', '', {from: String(number(lastHeight) + 1)})}>go on above</a>.`}</p>`;
}

const Nothing = () => html`<${Empty} command="cowboy-devnet call ACTOR HANDLER">
  No actor ran in these heights. Ask for earlier ones, or let one run:<//>`;

// --- the graph ---

const nameOf = ({name, kind}) => visible(kind ? `${kind}: ${name}` : name);

// Whose a function is: one actor's, or that of many with the same code.
function Whose({actors, isHostCall}) {
  if (isHostCall) return html`<span class="muted">the host</span>`;
  const [first] = actors;
  return html`<${Address} value=${first} />${actors.size > 1 && html`<span class="muted"> and ${counted(actors.size - 1, 'actor')} of the same code</span>`}`;
}

// A colour for each code, the dearest first.
const huesOf = (root) => {
  const codes = functions(root).filter(({code}) => code).map(({code}) => code);
  return new Map([...new Set(codes)].map((code, index) => [code, index % HUES]));
};

const hueOf = ({code, isHostCall, kind}, hues) =>
  (isHostCall ? 'host' : kind || !code ? 'entry' : `hue${hues.get(code)}`);

const sentence = (box, whole, unit) =>
  `${nameOf(box)}: ${grouped(box.total)} ${unit}, ${percent(box.total, whole)}; by itself ${grouped(box.own)}`;

function Graph({root, unit}) {
  const [at, setAt] = useState('');
  const [told, setTold] = useState(null);
  const top = find(root, at) ?? root;
  const drawn = layout(top, LEAST);
  const hues = huesOf(root);
  const shown = told && drawn.some(({box}) => box === told) ? told : top;
  return html`
    <${Card} title="By call stack" aside=${html`<${Path} top=${top} setAt=${setAt} />`}>
      <${Boxes} key=${at} ...${{drawn, top, root, hues, unit, setAt, setTold}} />
      <p class="told" aria-live="polite"><b>${nameOf(shown)}</b>${shown.parent && html` of <${Whose} ...${shown} />`}:
        ${' '}${grouped(shown.total)} ${unit}, ${percent(shown.total, root.total)} of all calls; by itself ${grouped(shown.own)}</p>
      <ul class="legend">${legend(root, hues).map(({code, actors}) => html`<li><span class=${`swatch hue${hues.get(code)}`}></span><${Whose} actors=${actors} /></li>`)}
        <li><span class="swatch host"></span>host calls</li></ul>
      <p class="muted">Choose a box to see it alone. With the keyboard: arrows go from box to box, Enter chooses.</p>
    <//>
    <${Functions} root=${root} unit=${unit} />`;
}

// A row for each code, with all actors that have it.
function legend(root, hues) {
  const rows = functions(root);
  return [...hues.keys()].slice(0, HUES).map((code) => ({
    code, actors: new Set(rows.filter((row) => row.code === code).flatMap(({actors}) => [...actors])),
  }));
}

const Path = ({top, setAt}) => {
  const boxes = [];
  for (let box = top; box; box = box.parent) boxes.unshift(box);
  return boxes.map((box, index) => (index === boxes.length - 1
    ? html`<span>${nameOf(box)}</span>` : html`<span><button class="link" onClick=${() => setAt(box.key)}>${nameOf(box)}</button> ›</span>`));
};

// One stop for the keyboard; the arrows move inside.
function Boxes({drawn, top, root, hues, unit, setAt, setTold}) {
  const [active, setActive] = useState(top.key);
  const place = useRef(null);
  const isMoved = useRef(false);
  useEffect(() => {
    if (isMoved.current) place.current?.querySelector('[tabindex="0"]')?.focus();
  }, [active]);
  const rows = Math.max(...drawn.map(({row}) => row)) + 1;
  const move = (event) => {
    const step = MOVES[event.key]?.(drawn, drawn.find(({box}) => box.key === active));
    if (!step) return;
    event.preventDefault();
    isMoved.current = true;
    setActive(step.box.key);
    setTold(step.box);
  };
  return html`<div class="flame" ref=${place} role="group" aria-label="Flame graph" onKeyDown=${move} style=${{height: `${rows * 1.6}rem`}}>
    ${drawn.map(({box, row, left, width}) => html`<button key=${box.key} class=${`box ${hueOf(box, hues)}`}
      tabindex=${box.key === active ? 0 : -1} title=${sentence(box, root.total, unit)}
      style=${{left: `${100 * left}%`, width: `${100 * width}%`, top: `${row * 1.6}rem`}}
      onClick=${() => setAt(box.key)} onMouseEnter=${() => setTold(box)} onFocus=${() => setTold(box)}>${nameOf(box)}</button>`)}
  </div>`;
}

const inRow = (drawn, row) => drawn.filter((one) => one.row === row).sort((a, b) => a.left - b.left);

function beside(drawn, at, step) {
  const row = inRow(drawn, at.row);
  return row[row.indexOf(at) + step];
}

const MOVES = {
  ArrowLeft: (drawn, at) => beside(drawn, at, -1),
  ArrowRight: (drawn, at) => beside(drawn, at, 1),
  ArrowUp: (drawn, at) => drawn.find(({box}) => box === at.box.parent),
  ArrowDown: (drawn, at) => inRow(drawn, at.row + 1).find(({box}) => box.parent === at.box),
  Home: (drawn) => drawn[0],
};

function Functions({root, unit}) {
  const [shown, setShown] = useState(ROWS_SHOWN);
  const rows = functions(root);
  return html`<${Card} title="By function" aside=${`${grouped(rows.length)} functions and host calls`}>
    <${Table} caption="Cost by function" rows=${rows.slice(0, shown)} keyOf=${({key}) => key} columns=${[
      {title: 'function', of: ({name}) => html`<code class="function">${visible(name)}</code>`},
      {title: 'of', of: (row) => html`<${Whose} ...${row} />`},
      {title: `${unit} by itself`, isNumber: true, of: ({own}) => grouped(own)},
      {title: 'share', isNumber: true, of: ({own}) => percent(own, root.total)},
      {title: 'with what it calls', isNumber: true, of: ({total}) => grouped(total)},
    ]} />
    ${rows.length > shown && html`<p><button onClick=${() => setShown(rows.length)}>Show all ${grouped(rows.length)}</button></p>`}
  <//>`;
}
