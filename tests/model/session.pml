/* The handshake, the states and the replay rule of docs/wire-3.0.md under an
 * attacker who owns the network: reads, drops, changes, makes up, repeats and
 * reorders every message, but cannot make a MAC without its key.
 *
 * A transcript is the tuple that th1 hashes: what was offered, what was chosen,
 * both nonces. Two peers hold the same keys exactly when they hold the same
 * tuple, so a MAC under a key of the session is a pair (purpose, tuple). The
 * attacker may send any such pair that an honest peer has sent before; that is
 * what `seen_*` records, and all that unforgeable means.
 *
 * Checked: agreement (whoever is READY has an honest partner with the same
 * tuple), no credential to a stranger, no downgrade (no session stands on the weak suite, since both ends
 * can do better), at most once (no request of a client runs twice, also after
 * a restart of the server that forgets its cache).
 *
 * Each of the macros below takes one rule away; the check must then fail, which
 * shows that it can: NO_TRANSCRIPT, NO_PROOF, NO_CONFIRM, NO_REPLAY_CACHE,
 * SESSIONS_SURVIVE.
 */

#define CLIENTS 2
#define SERVERS 2
#define STRONG 1
#define WEAK 0
/* The attacker has a nonce of its own, 2. */
#define NONCES 3

#ifdef NO_TRANSCRIPT
/* Keys that do not depend on what was offered. */
#define TUPLE(offer, choice, nc, ns) ((choice) + 2 * (nc) + 6 * (ns))
#else
#define TUPLE(offer, choice, nc, ns) ((choice) + 2 * (nc) + 6 * (ns) + 18 * (offer))
#endif
#define TUPLES 36

bool seen_proof[TUPLES];      /* welcome's proof */
bool seen_confirm_c[TUPLES];  /* auth's confirm */
bool seen_confirm_s[TUPLES];  /* ready's confirm */
bool seen_request[TUPLES];    /* the one signed request of a client */

mtype = { IDLE, HELLO_SENT, NEGOTIATED, AUTH_SENT, READY, CLOSED };

typedef Client { mtype state; byte tuple; bool choice };
typedef Server { mtype state; byte tuple; bool choice; bool before_restart };
Client client[CLIENTS];
Server server[SERVERS];
bool remembered[TUPLES];      /* the server's replay cache */
byte runs[TUPLES];            /* how often the request of that tuple ran */
bool restarted;

/* Client i takes nonce i, server connection j nonce j: all fresh. */
proctype run_client(byte i) {
  byte ns; bool choice; byte tuple; byte k;
  /* hello leaves; the attacker sees it, and knows it anyway */
  client[i].state = HELLO_SENT;
  /* some welcome arrives: fields as the attacker likes, proof as he can */
  select(ns : 0 .. 2);
  if :: choice = STRONG :: choice = WEAK fi;
  tuple = TUPLE(STRONG, choice, i, ns);
  if
#ifdef NO_PROOF
  :: true
#else
  :: seen_proof[tuple]
#endif
  -> atomic {
       /* a credential is shown only to a server of the same session */
       bool known = false;
       for (k : 0 .. SERVERS - 1) {
         if :: server[k].state != IDLE && server[k].tuple == tuple -> known = true
            :: else fi
       }
       assert(known); k = 0; known = false;
       client[i].tuple = tuple; client[i].choice = choice;
       client[i].state = AUTH_SENT; seen_confirm_c[tuple] = true
     }
  :: timeout -> goto end
  fi;
  /* some ready arrives */
  if
#ifdef NO_CONFIRM
  :: true
#else
  :: seen_confirm_s[tuple]
#endif
  -> atomic { client[i].state = READY; assert(choice == STRONG) };
     atomic {
       byte j; bool partner = false;
       for (j : 0 .. SERVERS - 1) {
         if :: server[j].state == READY && server[j].tuple == tuple -> partner = true
            :: else fi
       }
       assert(partner || restarted);
       j = 0; partner = false
     }
     seen_request[tuple] = true  /* one request, signed in this session */
  :: timeout -> goto end
  fi;
end: skip
}

proctype run_server(byte j) {
  byte nc; bool offer; byte tuple;
  /* some hello arrives */
  select(nc : 0 .. 2);
  if :: offer = STRONG :: offer = WEAK fi;
  tuple = TUPLE(offer, offer, nc, j);  /* the best that is offered is chosen */
  atomic {
    server[j].tuple = tuple; server[j].choice = offer;
    server[j].before_restart = !restarted;
    server[j].state = NEGOTIATED; seen_proof[tuple] = true
  }
  /* some auth arrives */
  if
#ifdef NO_CONFIRM
  :: true
#else
  :: seen_confirm_c[tuple]
#endif
  -> atomic {
       if :: server[j].state == NEGOTIATED -> server[j].state = READY; seen_confirm_s[tuple] = true;
             byte i; bool partner = false;
             for (i : 0 .. CLIENTS - 1) {
               if :: (client[i].state == AUTH_SENT || client[i].state == READY) && client[i].tuple == tuple -> partner = true
                  :: else fi
             }
             assert(partner); assert(offer == STRONG);
             i = 0; partner = false
          :: else -> goto end
       fi
     }
  :: timeout -> goto end
  fi;
  /* requests arrive, as often as the attacker likes */
  byte deliveries = 0;
  do
  :: deliveries < 3 && seen_request[tuple] -> atomic {
       deliveries++;
       if
       :: server[j].state != READY -> skip                            /* E_STATE, the session is gone */
#ifndef NO_REPLAY_CACHE
       :: server[j].state == READY && remembered[tuple] -> skip       /* E_REPLAY */
       :: server[j].state == READY && !remembered[tuple] ->
#else
       :: server[j].state == READY ->
#endif
          remembered[tuple] = true; runs[tuple]++; assert(runs[tuple] <= 1)
       fi
     }
  :: timeout -> break
  :: deliveries == 3 -> break
  od;
end: skip
}

/* The process dies and comes back: its cache is empty. Its sessions end with
 * it, since their keys are nowhere but in its memory; no rule about times is
 * needed for what was sent before. */
proctype restart() {
  byte j;
  atomic {
    restarted = true;
    for (j : 0 .. TUPLES - 1) { remembered[j] = false }
#ifndef SESSIONS_SURVIVE
    for (j : 0 .. SERVERS - 1) {
      if :: server[j].before_restart -> server[j].state = CLOSED :: else fi
    }
#endif
    j = 0
  }
}

init {
  byte k;
  atomic {
    for (k : 0 .. CLIENTS - 1) { client[k].state = IDLE; run run_client(k) }
    for (k : 0 .. SERVERS - 1) { server[k].state = IDLE; run run_server(k) }
    run restart();
    k = 0
  }
}
