import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const STOP_MS_MAX = 10_000

/**
 * Starts a Node program that prints one line of JSON when it is ready; resolves to that value and a function that ends
 * it.
 */
export async function startService(file, argument = {}) {
  const child = spawn(process.execPath, [file, JSON.stringify(argument)], {
    // Services end when this pipe closes, so that they end even if the parent is killed.
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with code ${code} before it was ready`)
  })
  const [line] = await Promise.race([once(lines, 'line'), exited])
  exited.catch(() => undefined)
  return {
    ready: JSON.parse(line),
    pid: child.pid,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      const hard = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await gone
      clearTimeout(hard)
    },
  }
}

/** Runs a Node program to its end; resolves to the JSON on the last line of its stdout. */
export async function runProgram(file, argument = {}, nodeOptions = []) {
  const child = spawn(process.execPath, [...nodeOptions, file, JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${file} ended with code ${code}`)
  return JSON.parse(text.trim().split('\n').at(-1))
}
