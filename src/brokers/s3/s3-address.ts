import type { S3Destination } from '../../domain/config/destination.ts';
import { bareHost, endpointUrl } from '../module/endpoint-url.ts';
import { encodePath } from './sign.ts';

/** The server of a bucket. It is the only one that is connected to: no answer changes it. */
export interface S3Address {
  isTls: boolean;
  hostname: string;
  port: number;
  /** For the header. */
  host: string;
  /** The path of the bucket, without a slash at its end. */
  path: string;
}

/** A certificate of Amazon covers one label before its name, so a bucket with a dot in its name stands in the path. */
const LABEL = /^[a-z\d-]+$/;

export function s3Address({ bucket, default_region: region, endpoint }: S3Destination): S3Address {
  if (endpoint !== '') {
    const url = endpointUrl(endpoint);
    const isTls = url.protocol === 'https:';
    const base = url.pathname.replace(/\/+$/, '');
    return {
      isTls,
      hostname: bareHost(url.hostname),
      port: Number(url.port) || (isTls ? 443 : 80),
      host: url.host,
      path: `${base}/${encodePath(bucket)}`,
    };
  }
  const server = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const hostname = LABEL.test(bucket) ? `${bucket}.${server}` : server;
  const path = LABEL.test(bucket) ? '' : `/${encodePath(bucket)}`;
  return { isTls: true, hostname, port: 443, host: hostname, path };
}
