import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { JsonFile } from '../../system/json-file.ts'

export type Heard = {
  /** Number of the first unhandled update. */
  readonly next: number
  /** Send time of the newest handled message, by Telegram's clock. */
  readonly dateSeconds: number
}

export type HeardFile = ReturnType<typeof openHeardFile>

const FILE = 'telegram.json'
/** `source` identifies bot and server: each server numbers each bot's updates separately. */
const WRITTEN =
  /^\{"version":1,"source":"([0-9a-f]{32})","next":(\d{1,10}),"dateSeconds":(\d{1,10})\}\n$/

/** A file of mode 0600 in the state directory, without token and address, so that no message is obeyed twice. */
export function openHeardFile(
  stateDir: string,
  { token, apiRoot }: { readonly token: string; readonly apiRoot: string },
) {
  const file = join(stateDir, FILE)
  // A digest, because an address may contain a secret.
  const [bot = ''] = token.split(':', 1)
  const own = createHash('sha256').update(`${bot}@${apiRoot}`).digest('hex').slice(0, 32)
  const json = new JsonFile<Heard, { readonly source: string; readonly heard: Heard }>(file, {
    encode: ({ next, dateSeconds }) =>
      `${JSON.stringify({ version: 1, source: own, next, dateSeconds })}\n`,
    decode(text) {
      const [, source, next, dateSeconds] = WRITTEN.exec(text) ?? []
      if (source === undefined) throw new SyntaxError('written by another program')
      return { source, heard: { next: Number(next), dateSeconds: Number(dateSeconds) } }
    },
  })
  return {
    /** Never rejects. Without a record of this bot at this address, `heard` is undefined. `fault`: the file is unusable. */
    async read(): Promise<{ readonly heard: Heard | undefined; readonly fault?: string }> {
      try {
        const written = await json.read()
        return { heard: written?.source === own ? written.heard : undefined }
      } catch (error) {
        const isSystem = error instanceof Error && 'code' in error
        const why = isSystem ? 'cannot be read' : 'is not as it was written'
        return { heard: undefined, fault: `${file} ${why}` }
      }
    },
    /** Rejects with the system's error. */
    write: (heard: Heard) => json.write(heard),
  }
}
