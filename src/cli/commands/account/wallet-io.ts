import { randomBytes } from 'node:crypto'
import type { ReadSecretFile } from '../../../adapters/keys/keystore.ts'
import { KEYS } from '../../compose/wallets.ts'

/** What the wallet commands may touch. */
export type WalletIo = {
  stdout(text: string): void
  stderr(text: string): void
  /** Asks a person, without echo. Undefined without a terminal; empty when the answer was broken off. */
  readSecret(prompt: string): Promise<string | undefined>
  /** What was piped in; undefined on a terminal. */
  readPiped(): Promise<string | undefined>
  readonly readFile: ReadSecretFile
  readonly env: Readonly<Record<string, string | undefined>>
  randomBytes(size: number): Uint8Array
  /** Work factor of new keystores, a power of two; without it geth's. */
  readonly scryptN?: number
}

type Input = Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'> &
  AsyncIterable<unknown>
type Output = { write(text: string): unknown }

/** A key has 66 characters; whatever is longer was piped in by mistake. */
const PIPED_LENGTH_MAX = 4_096
const SECRET_LENGTH_MAX = 1_024
const BREAK_OFF = ['\u0003', '\u0004']
const ENTER = ['\r', '\n']
const DELETE = ['\u007f', '\b']

export function createWalletIo(process: {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: WalletIo['env']
}): WalletIo {
  const { stdin, stdout, stderr, env } = process
  return {
    stdout: (text) => void stdout.write(text),
    stderr: (text) => void stderr.write(text),
    async readSecret(prompt) {
      if (stdin.isTTY !== true) return undefined
      // Not to stdout, which may be going into a file.
      stderr.write(prompt)
      const secret = await readLineWithoutEcho(stdin)
      stderr.write('\n')
      return secret
    },
    async readPiped() {
      if (stdin.isTTY === true) return undefined
      let text = ''
      for await (const chunk of stdin) {
        text += String(chunk)
        if (text.length > PIPED_LENGTH_MAX) break
      }
      return text
    },
    readFile: KEYS.readSecretFile,
    env,
    randomBytes: (size) => Uint8Array.from(randomBytes(size)),
  }
}

function readLineWithoutEcho(stdin: Input): Promise<string> {
  return new Promise((resolve) => {
    let typed = ''
    const finish = (line: string): void => {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
      resolve(line)
    }
    const onData = (chunk: unknown): void => {
      for (const character of String(chunk)) {
        if (BREAK_OFF.includes(character) || ENTER.includes(character)) {
          finish(ENTER.includes(character) ? typed : '')
          return
        }
        typed = afterKey(typed, character)
      }
    }
    stdin.setRawMode(true)
    stdin.on('data', onData)
    stdin.resume()
  })
}

function afterKey(typed: string, character: string): string {
  if (DELETE.includes(character)) return typed.slice(0, -1)
  return character >= ' ' && typed.length < SECRET_LENGTH_MAX ? typed + character : typed
}
