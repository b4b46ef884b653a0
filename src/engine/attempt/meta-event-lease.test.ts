import { expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { answered } from '../../../test/support/samples/outcomes.ts';
import { routingOf } from '../../../test/support/samples/routing.ts';
import type { LeasedMetaEvent } from '../../domain/delivery.ts';
import { IdFactory } from '../../domain/ids.ts';
import { DeliverySender, type DeliverySenderDeps } from './delivery-sender.ts';

const url = 'https://meta.example/';
const routing = routingOf({
  config: { meta_event: { is_enabled: true, type: 'http', url, event_type: ['*'], secret: '' } },
});
const event = { ...leasedDelivery(), kind: 'meta' } as unknown as LeasedMetaEvent;

/** The lease of the node expires while it reads the config, or not. */
async function sent({ expires }: { expires: boolean }) {
  let isFresh = true;
  const urls: string[] = [];
  const sender = new DeliverySender({
    cache: {
      getOrNull: async () => {
        isFresh = !expires;
        return routing;
      },
    },
    http: {
      send: async (request: { url: string }) => {
        urls.push(request.url);
        return answered(200);
      },
    },
    ids: new IdFactory(() => NOON),
    now: () => NOON,
    maySend: () => isFresh,
  } as unknown as DeliverySenderDeps);
  const { verdict, delayMs } = await sender.sendMetaEvent(event, new AbortController().signal);
  return { verdict, urls, delayMs };
}

test('a meta event is sent under a fresh lease', async () => {
  expect(await sent({ expires: false })).toEqual({ verdict: 'success', urls: [url], delayMs: null });
});

test('a meta event goes back to the queue unsent where the lease expired while its config was read', async () => {
  expect(await sent({ expires: true })).toEqual({ verdict: 'untried', urls: [], delayMs: 0 });
});
