// What all views are made of: values with their units, links, tables, empty states.

import {html, useState} from '../vendor/htm-preact.js';
import {baseUnits, cby, grouped, hex, percent, short, visible} from './format.js';
import {labels, labelOf} from './labels.js';
import {useStore} from './store.js';
import {linkTo} from '../views.js';

const TEXT_LETTERS = 600;

// --- values ---

export const Amount = ({units}) =>
  html`<span class="amount" title=${baseUnits(units)}>${cby(units)}</span>`;

// A price: base units for a cycle or a cell are the unit that people compare.
export const Price = ({units, per = 'cycle'}) =>
  html`<span class="amount" title=${`${cby(units)} a ${per}`}>${grouped(units || 0)}</span>`;

export const Count = ({of}) => html`<span class="number">${grouped(of ?? 0)}</span>`;

const Linked = ({to, title, children, ...rest}) =>
  to ? html`<a href=${to} title=${title} ...${rest}>${children}</a>`
    : html`<span title=${title} ...${rest}>${children}</span>`;

export const Height = ({of}) =>
  html`<${Linked} class="number" to=${linkTo('block', String(of ?? 0))}>${grouped(of ?? 0)}<//>`;

// Bytes that name something, in base64 or `0x…`; `view` is where they lead.
function Id({value, view, isWhole}) {
  const digits = value.startsWith('0x') ? value : hex(value);
  return html`<${Linked} class="hex" title=${digits} to=${view && linkTo(view, digits)}>
    ${isWhole ? digits : short(digits)}<//>`;
}

export const Hash = ({value, isWhole}) => html`<${Id} ...${{value, isWhole}} />`;
export const TransactionId = ({value, isWhole}) =>
  html`<${Id} view="transaction" ...${{value, isWhole}} />`;
export const TimerId = ({value, isWhole}) => html`<${Id} view="timer" ...${{value, isWhole}} />`;

// An address by its name if it has one.
export function Address({value, isWhole}) {
  useStore(labels);
  if (!value) return html`<span class="muted">the system</span>`;
  const digits = value.startsWith('0x') ? value : hex(value);
  const name = labelOf(digits);
  const to = linkTo('actor', digits) ?? linkTo('search', digits);
  return html`<${Linked} class=${name ? 'named' : 'hex'} title=${digits} to=${to}>
    ${name || (isWhole ? digits : short(digits))}<//>`;
}

// Anybody's text: what hides is shown by number, and what is long is cut.
export function Text({value, letters = TEXT_LETTERS}) {
  const [isWhole, setWhole] = useState(false);
  const text = String(value ?? '');
  if (text.length <= letters || isWhole) return html`<span class="text">${visible(text)}</span>`;
  return html`<span class="text">${visible(text.slice(0, letters))}…
    <button class="link" onClick=${() => setWhole(true)}>show all ${grouped(text.length)} characters</button></span>`;
}

// --- pieces of a view ---

export const Title = ({children, aside}) =>
  html`<div class="title"><h1>${children}</h1>${aside && html`<div class="aside">${aside}</div>`}</div>`;

export const Card = ({title, aside, children, ...rest}) => html`
  <section class="card" ...${rest} aria-label=${title}>
    <header><h2>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</header>
    ${children}
  </section>`;

// Rows of [name, value]; those without a value are left out.
export const KeyValues = ({rows}) => html`<dl class="values">${rows
  .filter(([, value]) => value !== undefined && value !== null && value !== '')
  .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

// Columns are {title, of: row => what stands there, isNumber}.
export const Table = ({caption, columns, rows, keyOf, classOf}) => html`
  <div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class="unseen">${caption}</caption>
      <thead><tr>${columns.map(({title, isNumber}) =>
        html`<th scope="col" class=${isNumber ? 'right' : ''}>${title}</th>`)}</tr></thead>
      <tbody>${rows.map((row, index) => html`
        <tr key=${keyOf ? keyOf(row) : index} class=${classOf?.(row) ?? ''}>${columns.map(({of, isNumber}) =>
          html`<td class=${isNumber ? 'right' : ''}>${of(row, index)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;

// A part of a whole, as a bar with its numbers; `most` is marked on it.
export function Use({name, used, whole, most, unit = 'cycles', kind = '', show = grouped}) {
  const share = (part) => `${Math.min(100, (100 * Number(part)) / (Number(whole) || 1))}%`;
  return html`<div class="use">
    <div><span>${name}</span><span class="number"><b>${percent(used, whole)}</b>
      <span class="muted"> ${show(used)} of ${show(whole)} ${unit}</span></span></div>
    <svg class=${`bar ${kind}`} role="img" width="100%" height="8" aria-label=${`${name}: ${percent(used, whole)} used`}>
      <rect class="rest" width="100%" height="8" rx="4" />
      <rect class="part" width=${share(used)} height="8" rx="4" />
      ${Number(most) > 0 && html`<rect class="most" x=${share(most)} y="-2" width="2" height="12"><title>${`most: ${grouped(most)}`}</title></rect>`}
    </svg>
  </div>`;
}

export const Loading = ({what = 'the node'}) =>
  html`<p class="note" role="status">Asking ${what}…</p>`;

// What to do where there is nothing yet; `command` is what to type.
export const Empty = ({children, command}) => html`
  <div class="empty"><p>${children}</p>${command && html`<pre><code>${command}</code></pre>`}</div>`;

const WHY = {unavailable: 'The node does not answer.', not_found: 'The node does not know this.'};

// Why there is no answer, in the node's own words; `again` asks once more.
export const Failure = ({error, again}) => html`
  <div class="failure" role="alert">
    <p><b>${WHY[error.code] ?? (error.code ? 'The node says no.' : 'This cannot be asked.')}</b></p>
    <p><${Text} value=${error.message} />${' '}${error.reason && html`<code>${error.reason}</code>`}</p>
    ${again && html`<button onClick=${again}>Ask again</button>`}
  </div>`;

// What an answer of `useAnswer` shows: itself, why there is none, or that it is awaited.
export function Answer({answer, what, children}) {
  const {data, error, reload} = answer;
  if (data === undefined) {
    return error ? html`<${Failure} error=${error} again=${reload} />` : html`<${Loading} what=${what} />`;
  }
  return html`${error && html`<${Failure} error=${error} again=${reload} />`}${children(data)}`;
}

// A block, a timer or whatever that a rewind of the chain took away.
export const Gone = ({what, rewound}) => html`
  <div class="failure" role="alert">
    <p><b>${what} is gone.</b></p>
    <p>The chain was taken back${rewound?.height !== undefined && html` to height <${Height} of=${rewound.height} />`}
      ${' '}while this page looked at it.</p>
  </div>`;

export const Badge = ({kind = '', children}) => html`<span class=${`badge ${kind}`}>${children}</span>`;

// What became of a timer: a word and a colour that it keeps everywhere.
const KIND_OF = {
  fired: 'fired', materialized: 'fired', put_off: 'late', slept: 'late', put_back: 'late', passed_over: 'late',
  expired: 'lost', removed_insufficient_funds: 'lost', cancelled: 'quiet', scheduled: 'pending', woke: 'pending',
  enqueued: 'pending', hit: 'pending', extended: 'pending', updated: 'pending', returned: 'quiet',
};
const WORD_OF = {removed_insufficient_funds: 'removed: no funds'};

export const Decision = ({of, reason}) => html`
  <${Badge} kind=${KIND_OF[of] ?? 'quiet'}>${WORD_OF[of] ?? visible(of.replaceAll('_', ' '))}<//>${
    reason && html` <span class="muted">${visible(reason.replaceAll('_', ' '))}</span>`}`;

// Copies its text; it says so for a moment.
export function Copy({text, what}) {
  const [isDone, setDone] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1200);
    }, () => {});
  return html`<button class="link" onClick=${copy} aria-label=${`Copy ${what}`}>${isDone ? 'copied' : 'copy'}</button>`;
}
