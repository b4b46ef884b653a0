import type { PosthornPortal, Subscription, UpdateSubscription } from 'posthorn-client';
import { type Edited, editedOf } from './save-change.ts';

/** A subscription, for its forms. Each changes a part of the filter, and sends the other as it is stored. */
export const editedSubscription = (
  api: Pick<PosthornPortal, 'configVersion' | 'subscriptions'>,
  stored: Subscription,
  part: 'event_types' | 'filter' = 'event_types',
): Edited<Subscription, UpdateSubscription> => ({
  ...editedOf(api, api.subscriptions, stored),
  fieldsOf: (of) => ({
    ...of,
    ...('source_metadata' in of && { source_id: of.source_metadata?.uid ?? '' }),
    ...(of.filter_config && { filter_config: of.filter_config[part] }),
  }),
});
