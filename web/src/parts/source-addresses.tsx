import { useQuery } from '@tanstack/react-query';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

/** The addresses that deliveries come from, for the firewall of a receiver. Nothing where the operator names none. */
export function SourceAddresses() {
  const { endpoints: t } = useWords();
  const { api } = useSite();
  const { data } = useQuery({
    queryKey: ['source addresses'],
    queryFn: () => api.endpoints.getSourceAddresses(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined || data.addresses.length === 0) return null;
  return (
    <p className="my-3">
      {t.comeFrom} <span className="font-mono text-xs">{data.addresses.join(', ')}</span>
    </p>
  );
}
