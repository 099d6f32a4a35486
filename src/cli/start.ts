#!/usr/bin/env node
import { plainHalt } from './process/plain-halt.ts'
import { VERSION_TEXT } from './process/version.ts'

// Runs before any other module loads. Without a listener, SIGUSR1 makes Node open its debugger on loopback, where every user
// of the machine can read the heap, and a key in it.
process.on('SIGUSR1', () => undefined)
const words = process.argv.slice(2)
const [command = ''] = words
/** They load a third of the program's code. */
const READING = ['status', 'ps', 'history', 'why']
/** Their code is so small that it starts fastest as modules of its own, which scripts/build.mjs makes of main.ts. */
const isShort = ['halt', 'completion', '--version', '--help', '-h', 'help'].includes(command)
const small = plainHalt(words, process) === undefined ? './short.js' : './halt.js'
if (command === '--version' && words.length === 1) process.stdout.write(`${VERSION_TEXT}\n`)
else if (isShort) void import(small)
else
  void import('./load-program.ts').then(({ loadProgram }) => {
    const bundle = READING.includes(command) ? 'reading.js' : 'program.js'
    loadProgram(bundle, { keeps: command === 'run' || command === 'status' })['main']?.()
  })
