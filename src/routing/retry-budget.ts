import type { RetryPolicy } from '../domain/delivery.ts';
import type { ProjectConfig } from '../domain/project-config.ts';
import type { RetryConfig } from '../domain/subscription.ts';

/** What the config says of retries; the longest wait is a setting of the instance. */
export type RetryBudget = Omit<RetryPolicy, 'maxRetrySeconds'>;

/**
 * A subscription's retry_config goes before the project's strategy. The former counts retries after the first
 * try, the latter all tries.
 */
export function retryBudget(project: ProjectConfig, retryConfig: RetryConfig | null): RetryBudget {
  if (retryConfig === null) {
    const { type, duration, retry_count } = project.strategy;
    return { strategy: type, intervalSeconds: duration, retryLimit: retry_count };
  }
  return {
    strategy: retryConfig.type,
    intervalSeconds: retryConfig.duration,
    retryLimit: retryConfig.retry_count + 1,
  };
}
