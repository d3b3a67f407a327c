// A client of securetool, written from docs/wire-3.0.md alone.

export {Client, type FlowOptions, type InvokeOptions, type SessionInfo} from './client.js';
export {type Code, ConnectionLost, REFUSALS, ScpError} from './errors.js';
export {canonical, type Json, type JsonObject, parse} from './json.js';
export type {ClientOptions, TokenSource} from './options.js';
export {checkReceipt, type Receipt, type ReceiptKey} from './receipts.js';
export type {Mode, Suite} from './suites.js';
export type {Capability, Content, Progress, ToolResult} from './tools.js';
