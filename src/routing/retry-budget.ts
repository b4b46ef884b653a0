import type { ProjectConfig } from '../domain/config/project-config.ts';
import type { RetryConfig } from '../domain/config/subscription.ts';
import type { RetryPolicy } from '../domain/delivery.ts';

/** The retry settings. The longest wait is a setting of the instance. */
export type RetryBudget = Omit<RetryPolicy, 'maxRetrySeconds'>;

/**
 * A subscription's retry_config overrides the project's strategy. The former counts retries after the first
 * attempt, the latter all attempts.
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
