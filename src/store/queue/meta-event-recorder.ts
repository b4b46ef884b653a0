import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { scheduleSeconds } from '../../domain/config/retry-schedule.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { type MetaEventType, type NewMetaEvent, wantsMetaEvent } from '../../domain/meta-event.ts';
import { stringifyWithRaw } from '../../platform/json/raw-json.ts';

/** Creates meta events for the projects that want them, with the retry budget of the project. */
export class MetaEventRecorder {
  readonly #deps: { ids: IdFactory; maxRetrySeconds: number };

  constructor(deps: { ids: IdFactory; maxRetrySeconds: number }) {
    this.#deps = deps;
  }

  /** `data` is called only if the project wants the type. */
  prepare(
    project: { id: string; config: ProjectConfig },
    eventType: MetaEventType,
    data: () => object,
  ): NewMetaEvent | undefined {
    const { meta_event, strategy } = project.config;
    if (!wantsMetaEvent(meta_event, eventType)) return undefined;
    return {
      id: this.#deps.ids.next(),
      projectId: project.id,
      eventType,
      payload: Buffer.from(stringifyWithRaw({ event_type: eventType, data: data() })),
      retry: {
        strategy: strategy.type,
        intervalSeconds: strategy.duration,
        maxRetrySeconds: this.#deps.maxRetrySeconds,
        retryLimit: strategy.retry_count,
        schedule: strategy.schedule.length === 0 ? null : scheduleSeconds(strategy.schedule),
      },
    };
  }
}
