import { useEndpointChoices, useSourceChoices } from '../../data/choices.ts';
import { FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';

interface Props {
  value: string;
  onChange(value: string): void;
}

export function EndpointFilter(props: Props) {
  const { endpoints, isAll } = useEndpointChoices();
  return <ResourceFilter noun="endpoint" known={endpoints} isAll={isAll} {...props} />;
}

export function SourceFilter(props: Props) {
  const { sources, isAll } = useSourceChoices();
  return <ResourceFilter noun="source" known={sources} isAll={isAll} {...props} />;
}

interface Choices {
  noun: string;
  known: readonly { uid: string; name: string }[];
  isAll: boolean;
}

/** One of those that are known. With many of them it takes an id. */
function ResourceFilter({ noun, known, isAll, value, onChange }: Props & Choices) {
  const label = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;
  if (!isAll) return <FilterText label={`${label} id`} value={value} onChange={onChange} />;
  const isKnown = value === '' || known.some(({ uid }) => uid === value);
  return (
    <FilterSelect
      label={label}
      value={value}
      onChange={onChange}
      choices={[
        ['', `Any ${noun}`],
        ...(isKnown ? [] : [[value, value] as const]),
        ...known.map(({ uid, name }) => [uid, name] as const),
      ]}
    />
  );
}
