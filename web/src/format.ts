/** Numbers as people write them. */

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : whole.format(value);
}

export function decimal(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

export function percent(share: number, digits = 1): string {
  return `${(share * 100).toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits})} %`;
}

export function bytes(value: number): string {
  const steps: [number, string][] = [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
  ];
  const [size, unit] = steps.find(([size]) => value >= size) ?? [1, 'bytes'];
  return `${(value / size).toLocaleString('en', {maximumFractionDigits: 1})} ${unit}`;
}

export function meters(value: number): string {
  return value >= 1000 ? `${decimal(value / 1000)} km` : `${whole.format(value)} m`;
}
