// A source with what its lines cost beside them, as a column of heat.

import {html, useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {grouped, number, percent, visible} from './format.js';

const LINES_SHOWN = 2000;
const LETTERS_SHOWN = 400; // of one line
const PARTS =
  /("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(#[^\n]*)|\b(and|as|assert|break|class|continue|def|elif|else|except|finally|for|from|if|import|in|is|lambda|not|or|pass|raise|return|self|try|while|with|yield|None|True|False)\b/g;
const KINDS = ['string', 'comment', 'word'];

// The lines of a source, each as [kind, text] pairs; the kind of plain text is ''.
export function linesOf(source) {
  const lines = [[]];
  const add = (kind, text) => {
    for (const [index, part] of text.split('\n').entries()) {
      if (index) lines.push([]);
      if (part) lines.at(-1).push([kind, part]);
    }
  };
  let at = 0;
  for (const match of source.matchAll(PARTS)) {
    add('', source.slice(at, match.index));
    add(KINDS[match.slice(1).findIndex((text) => text !== undefined)], match[0]);
    at = match.index + match[0].length;
  }
  add('', source.slice(at));
  if (lines.length > 1 && !lines.at(-1).length) lines.pop();
  return lines;
}

function shortened(parts) {
  let room = LETTERS_SHOWN;
  const kept = [];
  for (const [kind, text] of parts) {
    if (room <= 0) break;
    kept.push([kind, text.slice(0, room)]);
    room -= text.length;
  }
  return room < 0 ? [...kept, ['comment', ' …']] : kept;
}

const Code = ({parts}) => html`<code>${shortened(parts).map(([kind, text]) =>
  html`<span class=${kind}>${visible(text)}</span>`)}</code>`;

// `costs` are `{line, cycles, cells, executions}` by line; `marked` is a line to look at.
export function Source({source, costs, marked}) {
  const [shown, setShown] = useState(LINES_SHOWN);
  const target = useRef(null);
  useEffect(() => target.current?.scrollIntoView({block: 'center'}), [marked]);
  const lines = linesOf(source);
  const most = Math.max(1, ...[...(costs?.values() ?? [])].map(({cycles}) => number(cycles)));
  const whole = [...(costs?.values() ?? [])].reduce((sum, {cycles}) => sum + number(cycles), 0);
  return html`<div class="scroll source" role="region" aria-label="Source with the cost of each line" tabindex="0">
    <table>
      <caption class="unseen">Source${costs && ', with cycles by line'}</caption>
      <thead><tr><th scope="col" class="right">line</th>${costs && html`<th scope="col" class="right">cycles</th><th scope="col">share</th>`}<th scope="col">source</th></tr></thead>
      <tbody>${lines.slice(0, shown).map((parts, index) => {
        const line = index + 1;
        const cost = costs?.get(line);
        return html`<tr key=${line} ref=${line === marked ? target : undefined} class=${line === marked ? 'marked' : ''}>
          <td class="right muted">${line}</td>
          ${costs && html`<${Heat} cost=${cost} most=${most} whole=${whole} />`}
          <td><${Code} parts=${parts} /></td></tr>`;
      })}</tbody>
    </table>
    ${lines.length > shown && html`<p><button onClick=${() => setShown(lines.length)}>Show all ${grouped(lines.length)} lines</button></p>`}
  </div>`;
}

function Heat({cost, most, whole}) {
  if (!cost) return html`<td></td><td></td>`;
  const {cycles, cells = '0', executions = '0'} = cost;
  const title = `${grouped(cycles)} cycles and ${grouped(cells)} cells in ${grouped(executions)} executions`;
  return html`<td class="right" title=${title}>${grouped(cycles)}</td>
    <td class="heat" title=${title}><svg width="100%" height="14" role="img" aria-label=${percent(cycles, whole)}>
      <rect width=${`${Math.max(1, (100 * number(cycles)) / most)}%`} height="14" rx="2" /></svg></td>`;
}
