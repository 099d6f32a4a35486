import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, replaceFile } from '../state/durable-file.ts'

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
/** A whole one is shorter. */
const FILE_BYTES_MAX = 256
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
  return {
    async read() {
      try {
        const match = WRITTEN.exec(await startOf(file))
        if (match === null) return { heard: undefined, fault: `${file} is not as it was written` }
        const [, source, next = '', dateSeconds = ''] = match
        if (source !== own) return { heard: undefined }
        return { heard: { next: Number(next), dateSeconds: Number(dateSeconds) } }
      } catch (error) {
        return isMissing(error)
          ? { heard: undefined }
          : { heard: undefined, fault: `${file} cannot be read` }
      }
    },
    write: ({ next, dateSeconds }) =>
      replaceFile(file, `${JSON.stringify({ version: 1, source: own, next, dateSeconds })}\n`),
  }
}

async function startOf(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FILE_BYTES_MAX))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
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
