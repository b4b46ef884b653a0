import { BrokerFields, brokerOf, usesMachine } from '../../parts/brokers/broker-fields.tsx';
import { EditEndpoint as EditAnyEndpoint, type EndpointDialog } from '../../parts/forms/edit-endpoint.tsx';
import { HeaderKeyFields, headerKeyOf } from '../../parts/forms/header-key.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { useWords } from '../../parts/words.ts';
import { formText } from '../../ui/controls/form-text.ts';
import { useRights } from '../link.ts';

/** The fields that a customer may change. */
export function EditEndpoint({ endpoint: given, onClose }: EndpointDialog) {
  const endpoint = useAsOpened(given);
  const {
    endpoints: t,
    brokers: { hidden },
  } = useWords();
  const { seeSecrets, useBrokers: mayUseBrokers } = useRights();
  const { delivery, broker } = endpoint;
  const isBroker = delivery === 'broker';
  // A reader who does not see the settings, or may not give credentials of the machine, leaves them as they are.
  const hasSettings = isBroker && seeSecrets && mayUseBrokers && !usesMachine(broker);
  const { type = '', api_key: key } = endpoint.authentication ?? {};
  // Other ways to sign in are set by the API and stay as they are.
  const isHeader = delivery !== 'broker' && (type === '' || type === 'api_key');
  const signIn = (form: FormData) => {
    const change = headerKeyOf(form);
    // A reader who does not see the header leaves it as it is, or enters another.
    return isHeader && (seeSecrets || change.authentication?.type !== undefined) ? change : {};
  };
  return (
    <EditAnyEndpoint
      {...{ endpoint, onClose }}
      isPull={delivery === 'pull'}
      isBroker={isBroker}
      before={
        isBroker && (hasSettings ? <BrokerFields stored={broker} /> : <p className="text-muted">{hidden}</p>)
      }
      changeOf={(form, stored) => ({
        name: formText(form, 'name'),
        ...(!isBroker && { url: formText(form, 'url') }),
        ...(hasSettings && { broker: brokerOf(form, stored.broker) }),
        support_email: formText(form, 'support_email'),
        ...signIn(form),
      })}
    >
      {isHeader && (
        <fieldset>
          <legend className="mb-1 font-semibold">{t.header}</legend>
          <HeaderKeyFields stored={key} hint={seeSecrets ? t.headerHint : t.hiddenHeaderHint} />
        </fieldset>
      )}
    </EditAnyEndpoint>
  );
}
