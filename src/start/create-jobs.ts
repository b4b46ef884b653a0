import type { ConfigChanges } from '../control/config-changes.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import type { InFlightIds } from '../domain/in-flight-ids.ts';
import type { EventReplayer } from '../ingest/event-replayer.ts';
import { batchCancel, batchRetry } from '../jobs/delivery-jobs.ts';
import { JobRunner } from '../jobs/job-runner.ts';
import { onboardWork } from '../jobs/onboard-job.ts';
import { batchReplay } from '../jobs/replay-job.ts';
import { sendNow } from '../jobs/send-now-job.ts';
import { SettledIds } from '../jobs/settled-ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Database } from '../store/database/database.ts';
import type { MetaEventRecorder } from '../store/queue/meta-event-recorder.ts';

/** The works of jobs and their runner. */
export function createJobs(deps: {
  db: Database;
  cache: ConfigCache;
  nodeId: string;
  inFlight: InFlightIds;
  sink: DeliverySink;
  metaEvents: MetaEventRecorder;
  replayer: EventReplayer;
  changes: ConfigChanges;
  log: Logger;
}): JobRunner {
  const settled = new SettledIds(deps);
  const works = {
    batch_replay: batchReplay({ ...deps, settled }),
    batch_retry: batchRetry({ ...deps, now: () => deps.changes.deps.now() }),
    batch_cancel: batchCancel(deps),
    send_now: sendNow(deps),
    onboard: onboardWork(deps.changes),
  };
  return new JobRunner({ ...deps, works });
}
