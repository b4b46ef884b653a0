import { type Figure, Skipped } from '../figure.ts';
import { measureDeliveries, type Subject } from '../measure.ts';
import { ApiError, type Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { subjectOf, warmUp } from '../subjects.ts';

/** The load of end_to_end through a source's URL instead of the events API. */
export const ingest: Figure = {
  name: 'ingest',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => {
    const { seconds, connections } = stage.plan;
    return measureDeliveries(stage, await sourceOf(stage), { seconds, connections });
  },
};

function sourceOf(stage: Stage): Promise<Subject> {
  return stage.keep('ingesting service', async () => {
    const service = await stage.startService();
    try {
      const url = await createSource(stage, service);
      const subject = { ...subjectOf(service), url };
      await warmUp(stage, subject);
      return { value: subject };
    } catch (error) {
      await service.stop();
      throw error;
    }
  });
}

async function createSource(stage: Stage, service: Service): Promise<string> {
  try {
    const source = await service.post('/sources', {
      name: 'source',
      type: 'http',
      verifier: { type: 'noop' },
    });
    const endpoint = await service.post('/endpoints', { name: 'sink', url: `${stage.sinkUrl}/ok` });
    await service.post('/subscriptions', {
      name: 'all of the source',
      source_id: source.uid,
      endpoint_id: endpoint.uid,
    });
    return `${service.credentials.url}/ingest/${source.mask_id}`;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw new Skipped('sources do not exist yet');
    throw error;
  }
}
