// Curves over heights: uPlot in the page's colours, drawn anew when they change.
//
// A picture says nothing to who cannot see it: `Curves` has a summary in words, and the
// same numbers as a table that can be opened.

import {html, useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {compact, grouped} from './format.js';

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const dark = matchMedia('(prefers-color-scheme: dark)');

// Changes when the reader's colours do.
export function useScheme() {
  const [isDark, setDark] = useState(dark.matches);
  useEffect(() => {
    const listen = () => setDark(dark.matches);
    dark.addEventListener('change', listen);
    return () => dark.removeEventListener('change', listen);
  }, []);
  return isDark;
}

let loaded = null;

// uPlot, with its style sheet; asked for when the first chart is drawn.
function loadPlot() {
  loaded ??= import('../vendor/uplot.js').then(({default: plot}) => {
    const style = document.createElement('link');
    style.rel = 'stylesheet';
    style.href = new URL('../vendor/uplot.css', import.meta.url).href;
    document.head.append(style);
    return plot;
  }, () => {
    loaded = null; // the reader left, or the node did not hand it out: there is the table
    return null;
  });
  return loaded;
}

const axis = (more) => ({
  stroke: colour('muted'),
  grid: {stroke: colour('line'), width: 1},
  ticks: {stroke: colour('line'), width: 1},
  font: '12px system-ui, sans-serif',
  ...more,
});

// The options that all charts share; `series` are {name, kind}.
function baseOptions(series, width, height) {
  return {
    width,
    height,
    legend: {show: false},
    cursor: {y: false, drag: {x: false, y: false}, points: {size: 6}},
    scales: {x: {time: false}},
    axes: [
      axis({values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? grouped(tick) : '')), space: 80, size: 34}),
      axis({values: (_, ticks) => ticks.map((tick) => compact(tick)), size: 62}),
    ],
    series: [
      {},
      ...series.map(({name, kind, ...rest}) => ({
        label: name, stroke: colour(kind), width: 1.75, points: {show: false}, ...rest,
      })),
    ],
  };
}

// The width of an element as it changes.
export function useWidth(ref) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([{contentRect}]) => setWidth(Math.floor(contentRect.width)));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

// `heights` against the values of each of `series`: {name, kind, values, show}.
export function Curves({title, heights, series, height = 170}) {
  const place = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const width = useWidth(place);
  const isDark = useScheme();
  const data = [heights, ...series.map(({values}) => values)];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    if (!width) return undefined;
    let isLeft = false;
    loadPlot().then((Plot) => {
      if (isLeft || !Plot) return;
      const options = baseOptions(series.map(({name, kind}) => ({name, kind})), width, height);
      options.hooks = {setCursor: [({cursor}) => setAt(cursor.idx ?? null)]};
      plot.current = new Plot(options, latest.current, place.current);
    });
    return () => {
      isLeft = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, isDark, series.length, height]);
  useEffect(() => plot.current?.setData(latest.current));
  const index = at !== null && at < heights.length ? at : heights.length - 1;
  return html`<div class="chart">
    <div ref=${place} role="img" aria-label=${summary(title, heights, series)}></div>
    <ul class="legend"><li>height ${grouped(heights[index] ?? 0)}</li>${series.map(({name, kind, values, show}) => html`
      <li><span class=${`swatch ${kind}`}></span>${name} <b class="number">${show ? show(values[index]) : grouped(values[index] ?? 0)}</b></li>`)}
    </ul>
  </div>`;
}

function summary(title, heights, series) {
  if (!heights.length) return `${title}: nothing yet`;
  const parts = series.map(({name, values}) => {
    const known = values.filter((value) => value !== null);
    return `${name} from ${grouped(Math.min(...known))} to ${grouped(Math.max(...known))}, now ${grouped(known.at(-1))}`;
  });
  return `${title}, heights ${grouped(heights[0])} to ${grouped(heights.at(-1))}: ${parts.join('; ')}`;
}
