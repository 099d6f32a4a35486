import { type Adapter, Low } from 'lowdb'
import { ifThereNow, replaceFile } from './durable-file.ts'
import { readRegular } from './regular-file.ts'

/** `decode` throws for text that `encode` cannot have produced. */
type Codec<Written, Read> = {
  encode(data: Written): string | Promise<string>
  decode(text: string): Read | Promise<Read>
}

/**
 * A file that lowdb reads and writes as a whole. lowdb's own adapter does not sync, shares one temporary name between
 * writers and leaves the file world-readable, so this one uses `replaceFile`.
 */
export class JsonFile<Written extends object, Read extends object = Written> {
  readonly #low: Low<Written | Read | null>
  #length = 0

  constructor(file: string, codec: Codec<Written, Read>) {
    const adapter: Adapter<Written | Read | null> = {
      async read() {
        const read = ifThereNow(() => readRegular(file, Number.POSITIVE_INFINITY))
        return read === undefined ? null : codec.decode(read.data.toString())
      },
      write: async (data) => {
        // lowdb writes nothing for null.
        const text = await codec.encode(data as Written)
        await replaceFile(file, text)
        this.#length = text.length
      },
    }
    this.#low = new Low(adapter, null)
  }

  /** Undefined if the file is missing. Throws if it cannot be read or decoded. */
  async read(): Promise<Read | undefined> {
    try {
      await this.#low.read()
      return (this.#low.data as Read | null) ?? undefined
    } finally {
      this.#low.data = null
    }
  }

  /** Returns the text's length once it is on disk. Calls must not overlap. */
  async write(data: Written): Promise<number> {
    this.#low.data = data
    try {
      await this.#low.write()
    } finally {
      // lowdb would hold the data until the next write.
      this.#low.data = null
    }
    return this.#length
  }
}
