/**
 * Credentials of the machine that Posthorn runs on: the role of an instance, container or pod at a cloud. An endpoint or source
 * uses them with `credentials` `workload`, where the operator allows it. Its owner chooses the server, so they go to
 * servers of the cloud alone: a token that another server gets could be used by it.
 */
export const clouds = ['aws', 'google'] as const;
export type Cloud = (typeof clouds)[number];

export const CLOUD_OF = { sqs: 'aws', s3: 'aws', google: 'google' } as const satisfies Record<string, Cloud>;
export type WorkloadKind = keyof typeof CLOUD_OF;
export const isWorkloadKind = (kind: string): kind is WorkloadKind => Object.hasOwn(CLOUD_OF, kind);

const OWN_HOSTS: Record<WorkloadKind, RegExp> = {
  sqs: /^(?:[\w-]+\.)?sqs(?:-fips)?\.(?:[\w-]+\.)+amazonaws\.com(?:\.cn)?$/,
  s3: /^(?:[\w-]+\.)*s3(?:-fips)?\.(?:[\w-]+\.)+amazonaws\.com(?:\.cn)?$/,
  google: /^(?:[\w-]+-)?pubsub\.googleapis\.com$/,
};

export function isOfCloud(kind: WorkloadKind, endpoint: string): boolean {
  const url = URL.parse(endpoint);
  return url?.protocol === 'https:' && url.port === '' && OWN_HOSTS[kind].test(url.hostname);
}

export const NOT_OF_CLOUD = 'must be empty or a server of the cloud when credentials is workload';
