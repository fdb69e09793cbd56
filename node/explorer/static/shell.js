// What stands around every view: navigation, search, the chain's state, what is wrong.

import {html, render, useEffect, useErrorBoundary, useRef, useState} from './vendor/htm-preact.js';
import {giveToken, session} from './lib/api.js';
import {enumText, grouped, number, timeText, visible} from './lib/format.js';
import {ONLY_READ, keepFollowing, useLive} from './lib/live.js';
import {Empty, Height, Loading} from './lib/parts.js';
import {useStore} from './lib/store.js';
import {find, linkTo, views} from './views.js';

const NOTES = {
  asking: 'Four other tabs of this page follow the chain, and a browser gives six connections to all of them: this tab asks every two seconds.',
  lost: 'The node does not answer. This page goes on asking.',
};

function useHash() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const listen = () => setHash(location.hash);
    addEventListener('hashchange', listen);
    return () => removeEventListener('hashchange', listen);
  }, []);
  return hash;
}

function Search() {
  const field = useRef(null);
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== '/' || event.target.closest('input, textarea, select')) return;
      event.preventDefault();
      field.current.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const submit = (event) => {
    event.preventDefault();
    const text = field.current.value.trim();
    if (text) location.hash = linkTo('search', text);
  };
  return html`<form role="search" onSubmit=${submit}>
    <input ref=${field} type="search" aria-label="Search: address, label, id or height"
      placeholder="Address, label, id, height   /" spellcheck="false" autocomplete="off" />
  </form>`;
}

const Tabs = ({current}) => html`<nav aria-label="Views"><ul>${views
  .filter(({tab}) => tab)
  .map(({name, tab}) => html`<li><a href=${linkTo(name)}
    aria-current=${current === name ? 'page' : undefined}>${tab}</a></li>`)}</ul></nav>`;

const MODES = {
  still: 'only read', live: 'live', busy: 'live', asking: 'asks every 2 s', lost: 'no answer', hidden: 'resting', starting: 'asking',
};

function Strip() {
  const {mode, status, head} = useLive();
  if (!status) return html`<section class="strip" aria-label="The chain now"><span class=${`dot ${mode}`}></span>${MODES[mode]}</section>`;
  return html`<section class="strip" aria-label="The chain now">
    <span><span class=${`dot ${mode}`}></span>${MODES[mode]}</span>
    ${ONLY_READ && html`<span><b>${visible(ONLY_READ)}</b></span>`}
    <span>height <b><${Height} of=${head.height} /></b></span>
    <span class="wide">${timeText(head.timestampMs)}</span>
    <span>rules <b>${visible(status.rules)}</b></span>
    ${!ONLY_READ && html`<span class="wide">mining ${enumText(status.miningMode, 'MINING_MODE_')}</span>`}
    ${number(status.timeHolds) > 0 && html`<span><b>time is held</b></span>`}
    <span class="wide">${visible(status.chainName)}, id ${grouped(status.chainId)}</span>
  </section>`;
}

function Notices() {
  const {mode, rewinds, rewound} = useLive();
  const [seen, setSeen] = useState(0);
  return html`<section class="notices" aria-label="Notices" aria-live="polite">
    ${NOTES[mode] && html`<p class=${`notice ${mode}`}>${NOTES[mode]}</p>`}
    ${rewinds > seen && html`<p class="notice rewound">The chain was taken back${
      rewound?.height !== undefined && html` to height <${Height} of=${rewound.height} />`}:
      what this page showed of later blocks is gone. <button class="link" onClick=${() => setSeen(rewinds)}>Good</button></p>`}
  </section>`;
}

function Token({isRefused}) {
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    giveToken(field.current.value);
  };
  return html`<form class="token card" onSubmit=${submit}>
    <h1>This node wants a token</h1>
    <p>${isRefused ? 'It does not know the one that was given. ' : ''}It is in the file that the node was
      started with (<code>--token-file</code>). This tab keeps it until it is closed.</p>
    <label>Token <input ref=${field} type="password" autocomplete="off" required /></label>
    <button class="main">Go on</button>
  </form>`;
}

// The component of a view, once its module is there.
function View({found}) {
  const [module, setModule] = useState(null);
  const [defect, forget] = useErrorBoundary();
  const {view, params, query} = found;
  useEffect(() => {
    let isLeft = false;
    view.load().then(
      ({default: component}) => !isLeft && setModule({view, component}),
      () => !isLeft && setModule({view, component: Unloaded}),
    );
    return () => {
      isLeft = true;
    };
  }, [view]);
  if (defect) {
    return html`<div class="failure" role="alert"><p><b>This view broke.</b></p>
      <p class="text">${visible(defect.message)}</p><button onClick=${forget}>Draw it again</button></div>`;
  }
  if (module?.view !== view) return html`<${Loading} />`;
  const key = `${view.name}/${Object.values(params).join('/')}`;
  return html`<${module.component} key=${key} ...${params} query=${query} />`;
}

const Unloaded = () => html`<div class="failure" role="alert">
  <p><b>The node did not hand out this view.</b> Load the page again.</p></div>`;

const Unknown = () => html`<h1>There is no such view</h1>
  <${Empty}>Choose one above, or type an address, a label, an id or a height into the search box.<//>`;

function Page() {
  const hash = useHash();
  const {isTokenWanted, isRefused} = useStore(session);
  const found = find(hash);
  const main = useRef(null);
  const first = useRef(true);
  useEffect(() => {
    const title = found?.view.tab ?? found?.view.name ?? 'no such view';
    document.title = `${title} · cowboy-devnet`;
    if (!first.current) {
      main.current.focus({preventScroll: true});
      scrollTo(0, 0);
    }
    first.current = false;
  }, [hash]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      main.current.focus();
    }}>To the content</a>
    <header class="top">
      <a class="brand" href="#/"><svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
        <rect width="32" height="32" rx="7" /><circle cx="16" cy="17" r="9" /><path d="M16 11v6l4 2.6M12 4.5h8" />
      </svg>cowboy-devnet</a>
      <${Tabs} current=${found?.view.name} />
      <${Search} />
    </header>
    <${Strip} />
    <${Notices} />
    <main ref=${main} id="main" tabindex="-1">${
      isTokenWanted ? html`<${Token} isRefused=${isRefused} />`
        : found ? html`<${View} key=${found.view.name} found=${found} />` : html`<${Unknown} />`}
    </main>`;
}

export function start(place) {
  place.replaceChildren();
  render(html`<${Page} />`, place);
  keepFollowing();
}

