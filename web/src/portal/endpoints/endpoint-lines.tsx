import type { Endpoint } from 'posthorn-client';
import { EndpointBadge, type EndpointStated } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import { useWords } from '../../parts/words.ts';
import { at } from '../address.ts';
import { CountLines } from './counts.tsx';
import type { Health } from './health.ts';

export interface EndpointLine {
  endpoint: Pick<Endpoint, 'uid' | 'name' | 'url' | 'broker'> & EndpointStated;
  health: Health | undefined;
}

const COLUMNS = 'gap-x-4 px-1 sm:grid sm:grid-cols-[minmax(0,1fr)_8rem_minmax(0,16rem)]';

/** Endpoints with their health, one line each. */
export function EndpointLines({ endpoints }: { endpoints: readonly EndpointLine[] }) {
  const { endpoints: t, pages } = useWords();
  return (
    <>
      <p aria-hidden="true" className={`-mx-1 hidden pb-1 text-xs text-muted ${COLUMNS}`}>
        <span className="col-start-3">{t.day}</span>
      </p>
      <ul className="-mx-1 border-t border-line" aria-label={pages.endpoints}>
        {endpoints.map(({ endpoint, health }) => (
          <li
            key={endpoint.uid}
            className={`relative grid items-center gap-y-1 border-b border-line py-2.5 hover:bg-hover ${COLUMNS}`}
          >
            <span className="min-w-0">
              <a
                href={at(`endpoints/${endpoint.uid}`)}
                className="block truncate text-base font-semibold after:absolute after:inset-0"
              >
                {endpoint.name}
              </a>
              <span className="block truncate text-muted">{addressOf(endpoint)}</span>
            </span>
            <span>
              <EndpointBadge of={{ ...endpoint, ...health }} />
            </span>
            {health !== undefined && <CountLines health={health} />}
          </li>
        ))}
      </ul>
    </>
  );
}
