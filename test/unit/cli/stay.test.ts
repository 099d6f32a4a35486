import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { EXIT, type ExitCode } from '../../../src/cli/process/io.ts'
import { stay } from '../../../src/cli/process/stay.ts'
import { OperatorError } from '../../../src/domain/errors.ts'
import { failureOf } from '../../support/output-of.ts'

class BadFilesError extends OperatorError {
  readonly means = 'badConfig'
}

/** A run with the given end, and the signals of its process. */
function staying(run: Promise<ExitCode>, { wasTerminated = false } = {}) {
  let stderrText = ''
  let data = ''
  const listeners = new Set<(name: string) => void>()
  const stream = (take: (text: string) => void) =>
    new Writable({
      write(chunk, _, done) {
        take(`${chunk}`)
        done()
      },
    }) as unknown as NodeJS.WriteStream
  const stderr = stream((text) => {
    stderrText += text
  })
  const stdout = stream((text) => {
    data += text
  })
  const onSignal = (listener: (name: string) => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  let ended: ExitCode | undefined
  const outcome = stay(
    run,
    { stdout, stderr, env: {}, onSignal },
    { json: true, wasTerminated: () => wasTerminated },
  ).then((code) => {
    ended = code
    return code
  })
  return {
    outcome,
    stderrText: () => stderrText,
    data: () => data,
    listening: () => listeners.size,
    async ended() {
      await new Promise((resolve) => setImmediate(resolve))
      return ended
    },
    signal() {
      for (const listener of listeners) listener('SIGTERM')
    },
  }
}

test.each([EXIT.done, EXIT.failed])(
  'a run that ends with %i exits at once, since a restart is right or unnecessary',
  async (code) => {
    const it = staying(Promise.resolve(code))
    expect(await it.ended()).toBe(code)
    expect(it.stderrText()).toBe('')
  },
)

test.each([EXIT.stateInUse, EXIT.badConfig])(
  'a run that ends with %i stays until it is stopped, and exits with the same code',
  async (code) => {
    const it = staying(Promise.resolve(code))
    expect(await it.ended()).toBeUndefined()
    expect(it.stderrText()).toContain(`a restart cannot fix this (exit code ${code})`)
    it.signal()
    expect(await it.outcome).toBe(code)
    expect(it.listening()).toBe(0)
  },
)

test('an operator error is printed before the process stays', async () => {
  const it = staying(Promise.reject(new BadFilesError('config/live.yaml: no such file')))
  expect(await it.ended()).toBeUndefined()
  expect(it.stderrText()).toMatch(
    /^tranched: config\/live\.yaml: no such file\ntranched: a restart/,
  )
  expect(failureOf(it.data()).message).toBe('config/live.yaml: no such file')
  it.signal()
  expect(await it.outcome).toBe(EXIT.badConfig)
})

test('a bug is printed with its stack and exits at once', async () => {
  const it = staying(Promise.reject(new Error('lost count')))
  expect(await it.ended()).toBe(EXIT.failed)
  expect(it.stderrText()).toContain('Error: lost count')
})

test('a run stopped by a signal does not stay', async () => {
  const it = staying(Promise.resolve(EXIT.stateInUse), { wasTerminated: true })
  expect(await it.ended()).toBe(EXIT.stateInUse)
})
