type Flat = Readonly<Record<string, string | number>>

/** Rows of a long table, column by column. Recurring texts are stored once. */
export type Packed = {
  readonly words: readonly string[]
  /** Values are indexes into `words`. */
  readonly coded: Readonly<Record<string, readonly number[]>>
  readonly plain: Readonly<Record<string, readonly (string | number)[]>>
}

export function pack<Row extends Flat>(
  rows: readonly Row[],
  recurring: readonly (keyof Row & string)[],
): Packed {
  const places = new Map<string | number, number>()
  const placeOf = (text: string | number): number => {
    const place = places.get(text) ?? places.size
    places.set(text, place)
    return place
  }
  const column = (name: keyof Row & string) => rows.map((row) => row[name] ?? '')
  const plain = Object.keys(rows[0] ?? {}).filter((name) => !recurring.includes(name))
  return {
    coded: Object.fromEntries(recurring.map((name) => [name, column(name).map(placeOf)])),
    plain: Object.fromEntries(plain.map((name) => [name, column(name)])),
    words: [...places.keys()].map(String),
  }
}

export function unpack<Row extends Flat>({ words, coded, plain }: Packed): readonly Row[] {
  const texts = Object.entries(coded).map(
    ([name, places]) => [name, places.map((place) => words[place] ?? '')] as const,
  )
  const columns = [...texts, ...Object.entries(plain)]
  const count = columns[0]?.[1].length ?? 0
  return Array.from(
    { length: count },
    (_, index) => Object.fromEntries(columns.map(([name, values]) => [name, values[index]])) as Row,
  )
}

/** Rounds to the digits visible in a chart. */
export function visible(number: number): number {
  return Number(number.toPrecision(7))
}
