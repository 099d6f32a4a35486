import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { JsonFile } from '../../system/json-file.ts'

/** How far the messages to a bot were taken. */
export type Heard = {
  /** Number of the first update that was not. */
  readonly next: number
  /** When the newest message that was obeyed or answered was sent, by Telegram's clock. */
  readonly dateSeconds: number
}

/** Remembers that across restarts, so that nothing is obeyed a second time. */
export type HeardFile = {
  /** Never rejects. `heard` is undefined where nothing is known of this bot at this address; `fault` says why, where there is a file. */
  read(): Promise<{ readonly heard: Heard | undefined; readonly fault?: string }>
  /** Rejects with what the operating system says. */
  write(heard: Heard): Promise<void>
}

const FILE = 'telegram.json'
/** `source`: updates of one bot are counted by one server, and those of any other mean something else. */
const WRITTEN =
  /^\{"version":1,"source":"([0-9a-f]{32})","next":(\d{1,10}),"dateSeconds":(\d{1,10})\}\n$/

/** In the state directory, mode 0600. It holds neither the token nor the address. */
export function openHeardFile(
  stateDir: string,
  bot: { readonly token: string; readonly apiRoot: string },
): HeardFile {
  const file = join(stateDir, FILE)
  const own = sourceOf(bot)
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
    async read() {
      try {
        const written = await json.read()
        return { heard: written?.source === own ? written.heard : undefined }
      } catch (error) {
        const isSystem = error instanceof Error && 'code' in error
        const why = isSystem ? 'cannot be read' : 'is not as it was written'
        return { heard: undefined, fault: `${file} ${why}` }
      }
    },
    async write(heard) {
      await json.write(heard)
    },
  }
}

/** The bot's public number and where it is asked, as a digest: an address may carry a secret. */
function sourceOf({
  token,
  apiRoot,
}: {
  readonly token: string
  readonly apiRoot: string
}): string {
  const [bot = ''] = token.split(':', 1)
  return createHash('sha256').update(`${bot}@${apiRoot}`).digest('hex').slice(0, 32)
}
