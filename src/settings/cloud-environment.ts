/** The variables by which clouds tell a program where to get credentials. They have effect with POSTHORN_WORKLOAD_CREDENTIALS. */
const NAMES = [
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_DEFAULT_REGION',
  'AWS_EC2_METADATA_SERVICE_ENDPOINT',
  'AWS_ENDPOINT_URL',
  'AWS_ENDPOINT_URL_S3',
  'AWS_ENDPOINT_URL_SQS',
  'AWS_ENDPOINT_URL_STS',
  'AWS_REGION',
  'AWS_ROLE_ARN',
  'AWS_ROLE_SESSION_NAME',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB',
  'GCE_METADATA_HOST',
] as const;

/** The variables that are given and not empty. */
export const cloudEnvironment = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = env[name] ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
