// Names of addresses: those of the development accounts, and what the reader gave.
//
// They are the reader's own: this browser keeps them, no node knows them.

import {makeStore} from './store.js';
import {visible} from './format.js';

const KEY = 'cowboy-devnet-labels';
const LETTERS_MAX = 64;

// The first development accounts; a test holds that these are their addresses.
const ACCOUNTS = [
  '0x4bb1e4dd4a6a1487efe215190e442869ea6273a5',
  '0x2022fcab2575a52b11fba16f84e5db066d5c825a',
  '0x03952825dbad2cd0f6a1a0a40c05e9e5d127bc7d',
  '0x985304208058d1f3d18c2cecdb9a097a7fe5b484',
  '0x71b2704d4692c7958b878a1bec30419d7d5891b0',
  '0x9369356eda885c2ca04237b10abd1ed504095827',
  '0xc99872473a8b58c41173932f09883e5226c43ac3',
  '0x34130458ae1d251f96620984088435cf403b10de',
  '0x12302e7878fe50e225998333d7e4bade61d02011',
  '0x4d399436a8cc7a249442d480d470a74f80e929ab',
];

function stored() {
  try {
    const named = Object.entries(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
    return new Map(named.filter(([, name]) => typeof name === 'string'));
  } catch {
    return new Map();
  }
}

const given = () => ({
  names: new Map([...ACCOUNTS.map((address, index) => [address, `account ${index}`]), ...stored()]),
});

export const labels = makeStore(given());

// Other tabs give names, too.
addEventListener('storage', ({key}) => key === KEY && labels.set(given()));

// The name of an address in hex, as it may be shown; '' if it has none.
export const labelOf = (address) => visible(labels.get().names.get(address) ?? '');

// The addresses that have a name in which this text occurs, the exact one first.
export function labelled(text) {
  const wanted = text.trim().toLowerCase();
  const found = [...labels.get().names].filter(([, name]) => name.toLowerCase().includes(wanted));
  const rank = ([, name]) => (name.toLowerCase() === wanted ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other)).map(([address]) => address);
}

// The address of this name, whatever the case of its letters; undefined: nobody has it.
export const addressNamed = (text) => [...labels.get().names].find(([, name]) =>
  name.toLowerCase() === text.trim().toLowerCase())?.[0];

// Call an address by a name from now on; '' takes the name away. What is wrong with it.
export function giveLabel(address, text) {
  const name = text.trim();
  const other = [...labels.get().names].find(([whose, its]) => its === name && whose !== address);
  if (name.length > LETTERS_MAX) return `A name has at most ${LETTERS_MAX} letters.`;
  if (/^(0x.*|\d+)$/i.test(name)) return 'A name is neither an address nor a number.';
  if (name && other) return `${other[0]} has this name.`;
  const named = stored();
  if (name) named.set(address, name);
  else named.delete(address);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(named)));
  } catch {
    return 'This browser keeps nothing for this page.';
  }
  labels.set(given());
  return '';
}
