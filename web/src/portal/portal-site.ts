import type { Messages } from '../parts/languages/en.ts';
import type { Site } from '../parts/site.ts';
import { at } from './address.ts';
import { explainError } from './explain-error.ts';
import { outcomeText, tellDelivery } from './reason.ts';
import { api } from './session.ts';

/** The portal, for the parts that it shares with the dashboard. */
export const portalSite = (words: Messages): Site => ({
  api,
  project: '',
  at,
  heading: 'h2',
  explain: (error) => explainError(words, error),
  // A link for some event types may not try another, and this test has a type of its own.
  test: (endpointId) => api.endpoints.test(endpointId),
  why: ({ last_outcome: outcome, status, endpoint_metadata: endpoint }) =>
    outcome === '' || status === 'Success'
      ? ''
      : outcomeText(words, outcome, endpoint?.delivery === 'broker'),
  tell: (delivery, when) => tellDelivery(words, delivery, when),
});
