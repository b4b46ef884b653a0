import type { Config } from './settings.ts';

/** Other machines cannot reach this node. */
export function isOnLoopback({ host }: Pick<Config, 'host'>): boolean {
  return /^(127\.|::1$|localhost$)/.test(host);
}

/**
 * Deliveries to private addresses are for trials, so they are allowed only while the node is not reachable
 * from outside.
 */
export function egressRule(config: Config): 'any' | 'public' {
  if (config.egress !== '') return config.egress;
  return config.databaseUrl === null && isOnLoopback(config) ? 'any' : 'public';
}

/** Metrics need no key, so by default only this machine may read them. */
export function servesMetrics(config: Config): boolean {
  return config.metrics === '' ? isOnLoopback(config) : config.metrics === 'on';
}
