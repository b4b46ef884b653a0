import { CLOUD_OF, type Cloud, isWorkloadKind } from '../../domain/config/workload.ts';
import { invalid } from '../../domain/errors.ts';

/**
 * A tenant with these settings acts with the role of the machine, and so with the rights of the operator. So the operator
 * must have allowed it for the cloud.
 */
export function checkWorkload(
  settings: { type: string } | null | undefined,
  { path, allowed }: { path: string; allowed: readonly Cloud[] },
): void {
  const kind = settings?.type ?? '';
  if (!isWorkloadKind(kind) || !usesWorkload(settings)) return;
  if (allowed.includes(CLOUD_OF[kind])) return;
  throw invalid(
    `${path}.${kind}.credentials`,
    `may be workload only where the operator allows it: POSTHORN_WORKLOAD_CREDENTIALS does not have ${CLOUD_OF[kind]}`,
  );
}

/** Also of settings that are not complete. */
export function usesWorkload(settings: object | null | undefined): boolean {
  return Object.values(settings ?? {}).some(
    (one: unknown) =>
      typeof one === 'object' &&
      one !== null &&
      (one as { credentials?: unknown }).credentials === 'workload',
  );
}
