import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { Fold, TextArea } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

type Certificate = Endpoint['mtls_client_cert'];

const CERTIFICATE = 'mtls_client_cert.client_cert';
const KEY = 'mtls_client_cert.client_key';
/** The API keeps the stored key for it. */
const SAME = '***';

/** The certificate that Posthorn shows to the endpoint. Its private key is never shown again. */
export function CertificateFields({ stored }: { stored: Certificate }) {
  return (
    <Fold title="Client certificate" open={stored !== undefined}>
      <TextArea
        label="Certificate (PEM)"
        name={CERTIFICATE}
        rows={4}
        wrap="off"
        defaultValue={stored?.client_cert}
        placeholder="-----BEGIN CERTIFICATE-----"
        hint={
          stored === undefined
            ? 'For endpoints that ask for one. The chain may follow it.'
            : 'Empty this and the key to remove the certificate.'
        }
      />
      <TextArea
        label="Private key (PEM)"
        name={KEY}
        rows={4}
        wrap="off"
        autoComplete="off"
        placeholder="-----BEGIN PRIVATE KEY-----"
        hint={stored === undefined ? undefined : 'Leave it empty to keep the stored key.'}
      />
    </Fold>
  );
}

/** The change of the certificate, from the fields: none if they are empty. */
export function certificateOf(form: FormData, stored: Certificate): Pick<UpdateEndpoint, 'mtls_client_cert'> {
  const [certificate, key] = [formText(form, CERTIFICATE), formText(form, KEY)];
  const isSame = key === '' && certificate === (stored?.client_cert.trim() ?? '');
  if (isSame) return {};
  const keepsKey = key === '' && certificate !== '' && stored !== undefined;
  return { mtls_client_cert: { client_cert: certificate, client_key: keepsKey ? SAME : key } };
}
