import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client'

/**
 * Families with a series per strategy bypass prom-client, which takes fifteen times as long, keeps an object per series and
 * renders each family in one turn of the event loop. `text` yields parts that take about a millisecond each.
 */
export type Family = {
  readonly name: string
  text(): Iterable<string>
}

type Description<Label extends string> = {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
}

type Labels<Label extends string> = Readonly<Record<Label, string>>

const PART_CHARS = 64 * 1024

/**
 * Strategies with every series: ten thousand must stay scrapable. What later ones fill is summed in series without the
 * label `strategy`, so that sums over all strategies stay right.
 */
export const DETAILED_MAX = 500

/** Stands for all later strategies; no strategy can have this name. */
const OTHERS = ''

/** A counter or gauge with closed label sets. A series begins with its first value. */
export type StrategySeries<Label extends string> = Family & {
  readonly labelNames: readonly Label[]
  /** Begins these series of a strategy at 0. */
  start(strategy: string, zeros: readonly Labels<Exclude<Label, 'strategy'>>[]): void
  inc(labels: Labels<Label>, by?: number): void
  set(labels: Labels<Label>, value: number): void
  setToCurrentTime(labels: Labels<Label>): void
  remove(labels: Labels<Label>): void
}

/**
 * The first label must be `strategy`. `beginsAbove0`: a 0 is shown only once there was another value. `detailed`: only the
 * first `DETAILED_MAX` strategies have series of their own.
 */
export function createStrategySeries<Label extends string>(
  description: Description<Label> & {
    readonly type: 'counter' | 'gauge'
    readonly beginsAbove0?: boolean
    readonly detailed?: boolean
  },
): StrategySeries<Label> {
  const { name, labelNames, beginsAbove0 = false, detailed = false } = description
  // All strategies have the same labels, so a value's place in its row stands for their text.
  const texts: string[] = []
  const places = new Map<string, number>()
  const rows = new Map<string, (number | undefined)[]>()
  const own = labelNames.filter((label) => label !== 'strategy')
  const placeOf = (labels: Readonly<Record<string, string>>): number => {
    const text = own.map((label) => `,${label}="${escaped(labels[label] ?? '')}"`).join('')
    const place = places.get(text) ?? texts.push(`${text}} `) - 1
    places.set(text, place)
    return place
  }
  const cellOf = (labels: Readonly<Record<string, string>>) => {
    const own = escaped(labels['strategy'] ?? '')
    const strategy = detailed ? keyIn(rows, own) : own
    const row = rows.get(strategy) ?? []
    rows.set(strategy, row)
    return { row, place: placeOf(labels) }
  }
  function* lines(): Generator<string> {
    for (const [strategy, row] of rows) {
      const start = strategy === OTHERS ? `${name}{` : `${name}{strategy="${strategy}"`
      const from = strategy === OTHERS ? 1 : 0
      let text = ''
      for (let place = 0; place < row.length; place += 1)
        if (row[place] !== undefined) text += `${start}${texts[place]?.slice(from)}${row[place]}\n`
      yield text
    }
  }
  function set(labels: Labels<Label>, value: number): void {
    const { row, place } = cellOf(labels)
    if (value !== 0 || row[place] !== undefined || !beginsAbove0) row[place] = value
  }
  return {
    name,
    labelNames,
    start(strategy, zeros) {
      for (const labels of zeros) {
        const { row, place } = cellOf({ ...labels, strategy })
        row[place] ??= 0
      }
    },
    inc(labels, by = 1) {
      const { row, place } = cellOf(labels)
      row[place] = (row[place] ?? 0) + by
    },
    set,
    setToCurrentTime: (labels) => set(labels, Date.now() / 1_000),
    remove(labels) {
      const { row, place } = cellOf(labels)
      row[place] = undefined
    },
    text: () => parts(description, lines()),
  }
}

/** The strategy's row, or that of all later ones. */
function keyIn(rows: ReadonlyMap<string, unknown>, strategy: string): string {
  return rows.has(strategy) || rows.size < DETAILED_MAX ? strategy : OTHERS
}

/** A histogram for each of the first `DETAILED_MAX` strategies, from its first observation. `buckets` ascend. */
export function createStrategyHistogram(
  description: Omit<Description<never>, 'labelNames'> & { readonly buckets: readonly number[] },
) {
  const { name, buckets } = description
  const rows = new Map<string, { readonly counts: number[]; count: number; sum: number }>()
  function* lines(): Generator<string> {
    for (const [strategy, { counts, count, sum }] of rows) {
      const label = strategy === OTHERS ? '' : `strategy="${strategy}"`
      const bucket = `${name}_bucket{${label === '' ? '' : `${label},`}le="`
      const own = label === '' ? '' : `{${label}}`
      let text = ''
      let below = 0
      for (const [index, le] of buckets.entries()) {
        below += counts[index] ?? 0
        text += `${bucket}${le}"} ${below}\n`
      }
      yield `${text}${bucket}+Inf"} ${count}\n${name}_sum${own} ${sum}\n${name}_count${own} ${count}\n`
    }
  }
  return {
    name,
    labelNames: ['strategy'],
    observe(labels: Labels<'strategy'>, value: number): void {
      const strategy = keyIn(rows, escaped(labels.strategy))
      const row = rows.get(strategy) ?? { counts: buckets.map(() => 0), count: 0, sum: 0 }
      rows.set(strategy, row)
      const within = buckets.findIndex((bound) => value <= bound)
      if (within >= 0) row.counts[within] = (row.counts[within] ?? 0) + 1
      row.count += 1
      row.sum += value
    },
    text: () => parts({ ...description, type: 'histogram' }, lines()),
  }
}

/** A gauge that is read at each scrape. Every value has the same labels in the same order. */
export function createReadGauge(
  description: Omit<Description<never>, 'labelNames'> & {
    readonly read: () => Iterable<readonly [Labels<string>, number]>
  },
): Family {
  const { name, read } = description
  function* lines(): Generator<string> {
    for (const [labels, value] of read()) {
      let pairs = ''
      for (const label in labels)
        pairs += `${pairs === '' ? '{' : ','}${label}="${escaped(labels[label] ?? '')}"`
      yield `${name}${pairs === '' ? '' : `${pairs}}`} ${value}\n`
    }
  }
  return { name, text: () => parts({ ...description, type: 'gauge' }, lines()) }
}

function* parts(
  { name, help, type }: { readonly name: string; readonly help: string; readonly type: string },
  lines: Iterable<string>,
): Generator<string> {
  let part = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  for (const line of lines) {
    part += line
    if (part.length < PART_CHARS) continue
    // Makes V8 copy the thousands of pieces into one string now: kept, they would cost more than all else.
    part.charCodeAt(0)
    yield part
    part = ''
  }
  yield `${part}\n`
}

const TO_ESCAPE = /[\\"\n]/g

function escaped(value: string): string {
  return value.replace(TO_ESCAPE, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}

export type Make = ReturnType<typeof makerIn>

export function makerIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string>(configuration: CounterConfiguration<Label>) =>
      new Counter<Label>({ ...configuration, registers }),
    gauge: <Label extends string>(configuration: GaugeConfiguration<Label>) =>
      new Gauge<Label>({ ...configuration, registers }),
    histogram: <Label extends string>(configuration: HistogramConfiguration<Label>) =>
      new Histogram<Label>({ ...configuration, registers }),
  }
}

/** In seconds. */
export const MS_TO_MINUTES = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
export const SECONDS_TO_HOURS = [0.05, 0.25, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]
export const DISK = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]
