import { nearest } from '../../domain/text/nearest.ts'
import type { Fault } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'

type Use = {
  /** The section that defines the name, such as `chains`. */
  readonly kind: string
  readonly name: string
  readonly path: Path
  readonly at?: 'key'
}

type Stranger = Use & { readonly names: readonly string[] }

/** Collects faults of a config. A name that its section does not define is one fault, however often it is used. */
export class Faults {
  readonly #found: Fault[] = []
  readonly #strangers = new Map<string, Stranger[]>()
  readonly #used = new Set<string>()

  readonly report = (fault: Fault): void => void this.#found.push(fault)

  /** Returns the definition of a name. An undefined name becomes a fault. */
  lookUp<Value>(section: Readonly<Record<string, Value>>, use: Use): Value | undefined {
    const key = keyOf(use.kind, use.name)
    if (Object.hasOwn(section, use.name)) {
      this.#used.add(key)
      return section[use.name]
    }
    const stranger = { ...use, names: Object.keys(section) }
    this.#strangers.set(key, [...(this.#strangers.get(key) ?? []), stranger])
    return undefined
  }

  all(): readonly Fault[] {
    return [...this.#found, ...[...this.#strangers.values()].flatMap((uses) => this.#faultOf(uses))]
  }

  #faultOf(uses: readonly Stranger[]): readonly Fault[] {
    const [first] = uses
    if (first === undefined) return []
    const { kind, name, path, at, names } = first
    const unused = names.filter((each) => !this.#used.has(keyOf(kind, each)))
    const meant = nearest(name, unused)
    // Several uses of an undefined name suggest a misspelled definition. Not for tokens: strategies also use them.
    if (kind !== 'tokens' && uses.length > 1 && meant !== undefined) {
      const message = `nothing uses this name, and \`${name}\`, which is used ${uses.length} times, is not defined`
      return [
        { path: [kind, meant], at: 'key', message, expected: `\`${name}\``, suggestion: name },
      ]
    }
    const expected =
      names.length === 0
        ? `an entry under \`${kind}\``
        : `a key of \`${kind}\`: ${names.join(', ')}`
    const more = uses.length === 1 ? '' : `, which is used ${uses.length} times`
    const message = `nothing under \`${kind}\` has this name${more}`
    return [{ path, at, message, expected, suggestion: nearest(name, names) }]
  }
}

function keyOf(kind: string, name: string): string {
  return `${kind} ${name}`
}
