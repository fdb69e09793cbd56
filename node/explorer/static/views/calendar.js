// Calendar: what is due when, and what became of what was, on one axis of heights.
//
// It never asks for timers to draw them, only for their number by buckets of heights:
// three times what is in sight, so that a drag finds what it needs. The timers of one
// bucket are listed when it is chosen.

import {html, useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {ask, useAnswer} from '../lib/api.js';
import {useScheme, useWidth} from '../lib/chart.js';
import {compact, counted, durationText, grouped, number, timeText} from '../lib/format.js';
import {useLive} from '../lib/live.js';
import {Address, Answer, Badge, Card, Empty, Failure, Height, Loading, Table, TimerId, Title} from '../lib/parts.js';
import {linkTo} from '../views.js';
import {KINDS, coloursNow, draw, heightAt, valuesOf} from './calendar_chart.js';

const CHART_HEIGHT = 280;
const BUCKETS_MAX = 1000;
const BAR_PIXELS = 5;
const SIDES = 1; // spans that are held on each side of what is in sight
const YEAR_MS = 365 * 86_400_000;
const PAST_SHOWN = 100;
const AHEAD_SHOWN = 300;
const ROWS_MAX = 60;
const ADDRESS_MS = 200;
const FOLLOW_MS = 2000;

export default function Calendar({query}) {
  const {head, status, rewinds} = useLive();
  const params = useAnswer((signal) => ask('QueryService/GetParams', {}, signal), ['params']);
  if (!head || !status) return html`<${Title}>Calendar<//><${Loading} />`;
  return html`<${Answer} answer=${params}>${(told) => html`
    <${Axis} head=${number(head.height)} params=${told} query=${query} rewinds=${rewinds} />`}<//>`;
}

// --- what is in sight ---

function firstSight(query, head) {
  const given = (name) => (/^\d{1,15}$/.test(query.get(name) ?? '') ? Number(query.get(name)) : null);
  const [from, to, at] = [given('from'), given('to'), given('at')];
  if (at !== null) return {from: Math.max(0, at - 20), span: 41, selected: at, isFollowing: false};
  if (from !== null && to !== null && to >= from) return {from, span: to - from + 1, isFollowing: false};
  return {...around(head), isFollowing: true};
}

const around = (head) => ({from: Math.max(0, head - PAST_SHOWN), span: PAST_SHOWN + AHEAD_SHOWN});

function Axis({head, params, query, rewinds}) {
  const [sight, setSight] = useState(() => firstSight(query, head));
  const [selected, setSelected] = useState(() => (sight.selected === undefined ? null : {first: sight.selected, last: sight.selected}));
  const [isLogarithmic, setLogarithmic] = useState(false);
  const interval = number(params.blockIntervalMs) || 1000;
  const spanMax = YEAR_MS / interval;
  const place = useRef(null);
  const width = useWidth(place);
  const shown = sight.isFollowing ? {...around(head), isFollowing: true} : sight;
  const counts = useCounts(shown, width, head, rewinds);
  const look = ({from, span}) => {
    const wide = Math.min(Math.max(span, 1), spanMax);
    setSight({from: Math.max(0, Math.min(from, 2 ** 50)), span: wide, isFollowing: false});
  };
  const zoom = (factor, at = shown.from + shown.span / 2) => {
    const span = Math.min(Math.max(shown.span * factor, 1), spanMax);
    look({from: at - ((at - shown.from) * span) / shown.span, span});
  };
  const pan = (part) => look({from: shown.from + part * shown.span, span: shown.span});
  useAddress(shown);
  const buckets = counts.data?.buckets ?? [];
  const bucket = selected && buckets.find(({first, last}) => first <= selected.first && selected.first <= last);
  return html`
    <${Title} aside=${counts.data && html`${counted(counts.data.pending, 'pending timer')}${
      number(counts.data.queued) > 0 && `, ${counted(counts.data.queued, 'fire')} in the Globalbox`}`}>Calendar<//>
    <div class="stack">
      <section class="card" aria-label="Calendar">
        <${Tools} ...${{shown, head, params, interval, look, zoom, pan, isLogarithmic, setLogarithmic}}
          follow=${() => setSight({...around(head), isFollowing: true})} />
        ${counts.error && html`<${Failure} error=${counts.error} again=${counts.reload} />`}
        <div ref=${place} class="calendar">
          <${Chart} ...${{width, shown, head, counts: counts.data, selected, isLogarithmic, look, zoom, pan, params}} select=${setSelected} />
        </div>
        <ul class="legend">${KINDS.map(({name, kind}) => html`<li><span class=${`swatch ${kind}`}></span>${name}</li>`)}</ul>
        <${AsTable} buckets=${buckets} shown=${shown} select=${setSelected} />
      </section>
      ${selected ? html`<${Bucket} key=${selected.first} ...${{selected, bucket, head, look}} />`
        : counts.data && !number(counts.data.pending) && !number(counts.data.queued) && html`
          <${Empty} command="cowboy-devnet deploy genesis/actors/heartbeat.py --value '5 CBY'">No timer waits on this chain.
            An actor schedules one with <code>schedule_timer</code>; this one does when it is deployed:<//>`}
    </div>`;
}

// Keep what is in sight in the address, so that it can be shared.
function useAddress({from, span, isFollowing}) {
  const first = Math.floor(from);
  const last = Math.max(first, Math.ceil(from + span) - 1);
  useEffect(() => {
    const timer = setTimeout(() => {
      const address = linkTo('calendar', '', isFollowing ? {} : {from: first, to: last});
      if (location.hash.startsWith('#/calendar')) history.replaceState(null, '', address);
    }, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [first, last, isFollowing]);
}

// --- the numbers ---

// Counts by bucket for what is in sight and its sides; asked for when those are left,
// when bars would become too wide or narrow, and when the chain goes on.
function useCounts({from, span}, width, head, rewinds) {
  const held = useRef(null);
  const wanted = {from: Math.max(0, Math.floor(from - SIDES * span)), to: Math.ceil(from + (1 + SIDES) * span)};
  const old = held.current;
  const isHeld = old && old.rewinds === rewinds && old.from <= Math.max(0, Math.floor(from)) && old.to >= Math.ceil(from + span) - 1
    && span > old.span / 2 && span < old.span * 1.6;
  if (!isHeld && width > 0) held.current = {...wanted, span, rewinds};
  const asked = held.current;
  const bars = Math.ceil((width / BAR_PIXELS) * (1 + 2 * SIDES));
  const request = asked && {fromHeight: String(asked.from), toHeight: String(asked.to), buckets: Math.min(BUCKETS_MAX, bars)};
  const [last, setLast] = useState(null);
  const beat = useBeat(head);
  const answer = useAnswer(async (signal) => {
    if (!request) return null;
    const told = await ask('TimerService/CountDueTimers', request, signal);
    const read = {
      ...told,
      width: number(told.width),
      ringTo: number(told.ringTo),
      epochsTo: number(told.epochsTo),
      countedFrom: number(told.countedFrom),
      buckets: (told.buckets ?? []).map((bucket) => ({...bucket, first: number(bucket.fromHeight), last: number(bucket.toHeight)})),
    };
    setLast(read);
    return read;
  }, ['counts', request, rewinds], [beat]);
  return {...answer, data: answer.data ?? last};
}

// The head, but no oftener than is worth a new picture.
function useBeat(head) {
  const [beat, setBeat] = useState(head);
  const latest = useRef(head);
  latest.current = head;
  useEffect(() => {
    const timer = setInterval(() => setBeat(latest.current), FOLLOW_MS);
    return () => clearInterval(timer);
  }, []);
  return beat;
}

// --- the tools ---

function Tools({shown, head, params, interval, look, zoom, pan, follow, isLogarithmic, setLogarithmic}) {
  const ring = number(params.ringSize);
  const epochs = ring + number(params.epochLength) * number(params.epochs);
  const ahead = (span) => look({from: head - span * 0.05, span: span * 1.1});
  const first = Math.floor(shown.from);
  const last = Math.max(first, Math.ceil(shown.from + shown.span) - 1);
  return html`<div class="buttons tools">
    <button onClick=${() => pan(-0.5)} aria-label="Earlier">←</button>
    <button onClick=${() => pan(0.5)} aria-label="Later">→</button>
    <button onClick=${() => zoom(0.5)} aria-label="Zoom in">+</button>
    <button onClick=${() => zoom(2)} aria-label="Zoom out">−</button>
    <button onClick=${follow} aria-pressed=${shown.isFollowing}>Now</button>
    <button onClick=${() => ahead(ring)}>Ring</button>
    <button onClick=${() => ahead(epochs)}>Epochs</button>
    <button onClick=${() => ahead(86_400_000 / interval)}>A day</button>
    <button onClick=${() => ahead(YEAR_MS / interval)}>A year</button>
    <label class="check"><input type="checkbox" checked=${isLogarithmic} onChange=${(event) => setLogarithmic(event.target.checked)} />
      logarithmic</label>
    <span class="aside">${first === last ? `height ${grouped(first)}` : `heights ${grouped(first)} to ${grouped(last)}`},
      ${' '}${durationText((last - first + 1) * interval)}</span>
  </div>`;
}

// --- the picture ---

function Chart({width, shown, head, counts, selected, isLogarithmic, look, zoom, pan, params, select}) {
  const canvas = useRef(null);
  const latest = useRef({});
  const [hovered, setHovered] = useState(null);
  const isDark = useScheme();
  const colours = useRef(null);
  useEffect(() => {
    colours.current = coloursNow();
  }, [isDark]);
  const buckets = counts?.buckets ?? [];
  latest.current = {shown, width, buckets, look, zoom, select};
  useEffect(() => {
    if (!width || !counts) return undefined;
    const frame = requestAnimationFrame(() => draw(canvas.current, width, CHART_HEIGHT, {
      ...shown, buckets, head, ringTo: counts.ringTo, epochsTo: counts.epochsTo, countedFrom: counts.countedFrom,
      selected: bucketAt(buckets, selected?.first)?.first, hovered: hovered?.first, isLogarithmic, colours: colours.current ?? coloursNow(),
    }));
    return () => cancelAnimationFrame(frame);
  }, [width, shown.from, shown.span, counts, head, selected, hovered, isLogarithmic, isDark]);
  usePointer(canvas, latest, setHovered);
  const keys = (event) => {
    const act = {
      ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
      Enter: () => select(middle(shown, buckets)),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return html`
    <canvas ref=${canvas} tabindex="0" role="img" onKeyDown=${keys} height=${CHART_HEIGHT}
      aria-label=${`Timers by height; arrow keys move, + and − zoom, Enter chooses the middle. ${summary(buckets, shown)}`}></canvas>
    <p class="under small">${hovered ? told(hovered, params) : html`<span class="muted">Drag to move, turn the wheel to zoom, click a bar for its timers.</span>`}</p>`;
}

const bucketAt = (buckets, height) =>
  height === undefined || height === null ? undefined : buckets.find(({first, last}) => first <= height && height <= last);

const middle = ({from, span}, buckets) => {
  const at = Math.floor(from + span / 2);
  return bucketAt(buckets, at) ?? {first: at, last: at};
};

function summary(buckets, {from, span}) {
  const sums = buckets.filter(({first, last}) => last >= from && first < from + span).map(valuesOf)
    .reduce((all, values) => all.map((sum, index) => sum + values[index]), [0, 0, 0, 0]);
  return KINDS.map(({name}, index) => `${grouped(sums[index])} ${name}`).join(', ');
}

function told(bucket, {genesisTimestampMs, blockIntervalMs}) {
  const {first, last} = bucket;
  const time = timeText(number(genesisTimestampMs) + first * number(blockIntervalMs));
  const values = valuesOf(bucket).map((value, index) => value && `${grouped(value)} ${KINDS[index].name}`).filter(Boolean);
  return html`<b>${first === last ? grouped(first) : `${grouped(first)} to ${grouped(last)}`}</b>
    <span class="muted"> ${time}</span>: ${values.join(', ') || 'nothing'}`;
}

// Drags, pinches, the wheel and clicks on the canvas. What they need is in `latest`.
function usePointer(canvas, latest, setHovered) {
  useEffect(() => {
    const place = canvas.current;
    const down = new Map();
    let moved = 0;
    const at = (event) => event.clientX - place.getBoundingClientRect().left;
    const heightOf = (x) => heightAt(x, latest.current.width, latest.current.shown);
    const under = (event) => bucketAt(latest.current.buckets, Math.floor(heightOf(at(event))));
    const listeners = {
      pointerdown(event) {
        place.setPointerCapture(event.pointerId);
        down.set(event.pointerId, at(event));
        moved = 0;
      },
      pointermove(event) {
        const before = down.get(event.pointerId);
        if (before === undefined) {
          setHovered(under(event) ?? null);
          return;
        }
        const {shown, look, zoom} = latest.current;
        const [x, others] = [at(event), [...down].filter(([id]) => id !== event.pointerId)];
        down.set(event.pointerId, x);
        moved += Math.abs(x - before);
        if (others.length) {
          const other = others[0][1];
          const [old, now] = [Math.abs(before - other), Math.abs(x - other)];
          if (old > 8 && now > 8) zoom(old / now, heightOf((x + other) / 2));
        } else look({from: shown.from - (heightOf(x) - heightOf(before)), span: shown.span});
      },
      pointerup(event) {
        if (down.delete(event.pointerId) && moved < 4) {
          latest.current.select(under(event) ?? null);
        }
      },
      pointercancel: (event) => down.delete(event.pointerId),
      pointerleave: () => setHovered(null),
      wheel(event) {
        event.preventDefault();
        const {shown, look, zoom} = latest.current;
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          look({from: shown.from + (event.deltaX / 600) * shown.span, span: shown.span});
        } else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), heightOf(at(event)));
      },
    };
    for (const [name, listener] of Object.entries(listeners)) place.addEventListener(name, listener, {passive: false});
    return () => {
      for (const [name, listener] of Object.entries(listeners)) place.removeEventListener(name, listener);
    };
  }, []);
}

// --- the same in words ---

function AsTable({buckets, shown: {from, span}, select}) {
  const [isOpen, setOpen] = useState(false);
  const filled = buckets.filter((bucket) => bucket.last >= from && bucket.first < from + span && valuesOf(bucket).some(Boolean));
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>As a table</summary>
    ${isOpen && (filled.length ? html`<${Table} caption="Timers by bucket of heights" rows=${filled.slice(0, ROWS_MAX)} keyOf=${({first}) => first} columns=${[
      {title: 'heights', of: (bucket) => html`<button class="link" onClick=${() => select(bucket)}>${heightsOf(bucket)}</button>`},
      ...KINDS.map(({name}, index) => ({title: name, isNumber: true, of: (bucket) => grouped(valuesOf(bucket)[index])})),
    ]} />${filled.length > ROWS_MAX && html`<p class="note">The first ${ROWS_MAX} of ${grouped(filled.length)}; zoom in for the others.</p>`}`
      : html`<${Empty}>Nothing is due here, and nothing was.<//>`)}</details>`;
}

const heightsOf = ({first, last}) => (first === last ? grouped(first) : `${grouped(first)} to ${grouped(last)}`);

// --- one bucket ---

const LISTS = [
  {status: 'TIMER_STATUS_PENDING', name: 'pending', of: ({pending}) => pending},
  {status: 'TIMER_STATUS_FIRED', name: 'fired', of: ({fires}) => fires},
  {status: 'TIMER_STATUS_EXPIRED', name: 'expired', of: ({expired}) => expired},
  {status: 'TIMER_STATUS_REMOVED_INSUFFICIENT_FUNDS', name: 'removed: no funds', of: ({removed}) => removed},
  {status: 'TIMER_STATUS_CANCELLED', name: 'cancelled', of: ({cancelled}) => cancelled},
];

function Bucket({selected, bucket, head, look}) {
  const {first, last} = selected;
  const [chosen, setChosen] = useState(null);
  const known = LISTS.filter(({of}) => number(of(bucket ?? {})) > 0);
  const list = chosen ?? known.find(({name}) => name !== 'pending' && last <= head) ?? known[0] ?? LISTS[0];
  const span = last - first + 1;
  return html`<${Card} title=${`Height${first === last ? '' : 's'} ${heightsOf(selected)}`} aside=${html`
      ${first <= head && html`<a href=${linkTo('block', String(Math.min(last, head)))}>block ${grouped(Math.min(last, head))}</a>`}
      ${span > 1 && html`<button onClick=${() => look({from: first - span * 0.05, span: span * 1.1})}>Zoom in here</button>`}`}>
    <div class="buttons">${known.map((one) => html`<button aria-pressed=${one === list} onClick=${() => setChosen(one)}>${
      one.name} ${compact(number(one.of(bucket)))}</button>`)}
      ${number(bucket?.putOffs) > 0 && html`<span class="muted">${counted(bucket.putOffs, 'put-off')}: the block tells which</span>`}</div>
    <${Timers} key=${list.status} ...${{first, last, list}} />
  <//>`;
}

function Timers({first, last, list: {status, name}}) {
  const [tokens, setTokens] = useState(['']);
  const {head, rewinds} = useLive();
  const pageToken = tokens.at(-1);
  const request = {fromHeight: String(first), toHeight: String(last), status, pageSize: 25, pageToken};
  const answer = useAnswer((signal) => ask('TimerService/ListTimers', request, signal), ['timers', request, rewinds], pageToken ? [] : [head.height]);
  return html`<${Answer} answer=${answer} what="for these timers">${({timers = [], nextPageToken}) => (timers.length
    ? html`<${Table} caption=${`Timers: ${name}`} rows=${timers} keyOf=${({id}) => id} columns=${[
        {title: 'timer', of: ({id}) => html`<${TimerId} value=${id} />`},
        {title: 'actor', of: ({actor}) => html`<${Address} value=${actor} />`},
        {title: 'due at', isNumber: true, of: ({height}) => html`<${Height} of=${height} />`},
        {title: name === 'pending' ? 'tier' : 'ended at', isNumber: true, of: ({record, end}) => (end ? html`<${Height} of=${end.height} />`
          : html`<${Badge}>${(record?.tier ?? '').replace('TIMER_TIER_', '').toLowerCase()}<//>`)},
        {title: 'most cycles', isNumber: true, of: ({record, end}) => grouped(record?.gasLimit ?? end?.numbers?.limit ?? '')},
      ]} /><p class="buttons">${tokens.length > 1 && html`<button onClick=${() => setTokens(tokens.slice(0, -1))}>Before</button>`}
        ${nextPageToken && html`<button onClick=${() => setTokens([...tokens, nextPageToken])}>More</button>`}</p>`
    : html`<${Empty}>None: nothing is due at ${first === last ? 'this height' : 'these heights'} now.<//>`)}<//>`;
}
