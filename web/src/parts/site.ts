import type { EventDelivery, PosthornPortal, TestAttempt } from 'posthorn-client';
import { createContext, useContext } from 'react';
import type { Explained } from '../data/explain-error.ts';

/** The page that the parts stand on: a project of the dashboard, or the portal. */
export interface Site {
  /** The calls that both have. */
  api: Pick<
    PosthornPortal,
    | 'configVersion'
    | 'dashboard'
    | 'deliveryAttempts'
    | 'endpoints'
    | 'eventDeliveries'
    | 'eventTypes'
    | 'subscriptions'
  >;
  /** Keeps the data of projects apart in the cache. */
  project: string;
  /** The address of a page, such as that of `deliveries/{id}`. */
  at(page: string): string;
  /** The level of the title of a page. */
  heading: 'h1' | 'h2';
  explain(error: unknown): Explained;
  /** Sends the sample of the service to an endpoint. */
  test(endpointId: string): Promise<TestAttempt>;
  /** Why a delivery is in its state, for a line of a list. Empty: there is nothing to say. */
  why(delivery: EventDelivery): string;
  /** The past and the next step of a delivery, in words. `when` words a time, such as "in 4 min". */
  tell(delivery: EventDelivery, when: (at: string) => string): string;
}

export const SiteContext = createContext<Site | undefined>(undefined);

export function useSite(): Site {
  const site = useContext(SiteContext);
  if (site === undefined) throw new Error('there is no site around the part');
  return site;
}
