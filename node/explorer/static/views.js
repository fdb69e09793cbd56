// The views, by their addresses: `#/block/5` is the view `block` with {height: '5'}.
//
// To add one, write `views/NAME.js`, whose default export is a component that gets the
// parts of its address as properties and `query`, the URLSearchParams behind `?`; and
// add its row here. A part with `?` may be missing. `tab` names it in the navigation;
// without it, it is reached by links. A view asks the API with `useAnswer` (lib/api.js),
// is drawn anew with each block by `useLive` (lib/live.js), writes with lib/format.js,
// and is made of lib/parts.js. Links to views are made with `linkTo`, which gives null
// for what is not in this table.

export const views = [
  {name: 'now', pattern: '', tab: 'Now', load: () => import('./views/now.js')},
  {name: 'calendar', pattern: 'calendar', tab: 'Calendar', load: () => import('./views/calendar.js')},
  {name: 'block', pattern: 'block/:height?', tab: 'Blocks', load: () => import('./views/block.js')},
  {name: 'flame', pattern: 'flame', tab: 'Flame', load: () => import('./views/flame.js')},
  {name: 'timer', pattern: 'timer/:id', load: () => import('./views/timer.js')},
  {name: 'transaction', pattern: 'transaction/:id', load: () => import('./views/transaction.js')},
  {name: 'actor', pattern: 'actor/:address', load: () => import('./views/actor.js')},
  {name: 'search', pattern: 'search/:text?', load: () => import('./views/search.js')},
];

const partsOf = (pattern) => pattern.split('/').filter(Boolean);

// The view of an address like `#/block/5?x=1`, as {view, params, query}; null: none.
export function find(hash) {
  const [path, search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const given = partsOf(path).map(decoded);
  for (const view of views) {
    const params = matched(partsOf(view.pattern), given);
    if (params) return {view, params, query: new URLSearchParams(search)};
  }
  return null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function matched(wanted, given) {
  if (given.length > wanted.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index];
    if (value === undefined && !part.endsWith('?')) return null;
    if (part.startsWith(':')) params[part.replace(/[:?]/g, '')] = value;
    else if (part !== value) return null;
  }
  return params;
}

// The address of a view, as `linkTo('block', 5, {order: 'rank'})`; null: there is none.
export function linkTo(name, value = '', query = {}) {
  const view = views.find((each) => each.name === name);
  if (!view) return null;
  const place = partsOf(view.pattern)[0] ?? '';
  const search = String(new URLSearchParams(query));
  const rest = value === '' ? '' : `/${encodeURIComponent(value)}`;
  return `#/${place}${rest}${search && `?${search}`}`;
}
