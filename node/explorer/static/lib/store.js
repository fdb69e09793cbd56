// A value that several parts of the page show, and that tells them when it changes.

import {useEffect, useState} from '../vendor/htm-preact.js';

export function makeStore(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    update(part) {
      this.set({...value, ...part});
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// The value now; the component is drawn again whenever it changes.
export function useStore(store) {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(store.get());
    return store.listen(setValue);
  }, [store]);
  return value;
}
