import { useSyncExternalStore } from 'react';

/** Where the reader is: `#/deliveries/{id}?state=Failure`. The part after the `#` never reaches a server. */
export interface Place {
  page: string;
  id: string | undefined;
  filters: URLSearchParams;
}

const parameters = new URLSearchParams(location.search);
/** The page that the link opens. */
const START = parameters.get('page') ?? '';
/** A host page that has tabs of its own leaves out ours. */
export const hasTabs = parameters.get('nav') !== 'none';

const subscribe = (listener: () => void) => {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
};

export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page = '', id] = path.split('/');
  return { page: page || START || 'endpoints', id: id || undefined, filters: new URLSearchParams(query) };
}

export const at = (page: string): string => `#/${page}`;
