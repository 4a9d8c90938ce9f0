/*
 * post: sends one HTTP request over and over, with other numbers in it each time, and reports how it was answered.
 *
 *     post --to 127.0.0.1:8000 --path /api/v1/notification --body FILE --seconds 5 --warm-up 1
 *
 * A generator in Python needs more CPU than the server it should load, so this one is in C: one thread, one epoll loop,
 * so many connections, each kept alive and with one request under way. It is a closed loop: a connection sends its next
 * request when it has the answer to the last, so throughput is what the server makes of `--connections` at a time, and
 * a latency includes the time in the server's queue.
 *
 * In the body `{n}` becomes a number of twelve digits, `{n:3}` the last three digits of one. Every place takes the next
 * number, so no two bodies are equal and no id comes twice. Widths are fixed, hence the length of all requests is the
 * same and a number is written over the last one. What is sent is made in pieces of 64 KiB: two hundred requests of
 * 8 MiB under way need no more room here than two hundred small ones.
 *
 * Standard output is one line when the warm-up is over and measuring begins, and one with the report, both JSON.
 * Counted are requests that began after the warm-up; each ends in exactly one of these:
 *
 *     requests     answered; `by_status` says how, and `unexpected` how many of them were not 2xx with the text
 *                  that `--expect` wants in the body
 *     errors       the connection failed before there was a readable answer
 *     unanswered   still open when `--limit` seconds had passed
 *
 * With `--retry` a 429 or 503 with a Retry-After is no end: it is counted as `retried`, and the same request, numbers
 * and all, is sent again after that time. Its latency runs on. The first error and the first unexpected answer are
 * shown on standard error.
 *
 * It speaks to 127.0.0.0/8 and to nothing else: pointed at somebody's service it would be an attack.
 * Answers must have a Content-Length, or a status that has no body.
 */
#define _GNU_SOURCE /* memmem, asprintf */

#include <inttypes.h>

#include "connection.h"
#include "histogram.h"
#include "options.h"

enum {
    HTTP_STATUSES = 1000,
    SHOWN_BYTES = 400, /* of an answer that was not expected */
};

/* After an error, or a server that is down would be asked without end. */
static const uint64_t PAUSE_NANOSECONDS = 100000000;

struct run {
    struct options options;
    struct service service;
    struct connection *connections;
    uint64_t next_number;

    bool is_measuring;
    uint64_t measuring_since;
    uint64_t last_answer_at;
    uint64_t to_start; /* requests, where they are counted */
    int unfinished;    /* connections */

    struct histogram latencies;
    uint64_t by_status[HTTP_STATUSES];
    uint64_t requests;
    uint64_t unexpected;
    uint64_t retried;
    uint64_t errors;
};

static bool may_start(const struct run *run)
{
    if (!run->is_measuring)
        return true;
    if (run->options.count > 0)
        return run->to_start > 0;
    return now() < run->measuring_since + run->options.nanoseconds;
}

static void start_next(struct run *run, struct connection *connection)
{
    if (!may_start(run)) {
        connection->state = FINISHED;
        run->unfinished--;
        return;
    }
    if (run->is_measuring && run->options.count > 0)
        run->to_start--;
    connection->is_measured = run->is_measuring;
    connection->first_number = run->next_number;
    run->next_number += run->service.request.slot_count;
    connection->began = now();
    send_request(connection);
}

static void repeat_or_start_next(struct run *run, struct connection *connection)
{
    if (!connection->repeats)
        start_next(run, connection);
    else if (now() < connection->resume_at)
        connection->state = PAUSED;
    else
        send_request(connection);
}

static void end_with_error(struct run *run, struct connection *connection, const char *why)
{
    if (connection->is_measured && run->errors++ == 0)
        fprintf(stderr, "post: first error: %s\n", why);
    close_socket(connection);
    connection->state = PAUSED;
    connection->repeats = false;
    connection->resume_at = now() + PAUSE_NANOSECONDS;
}

static bool is_expected(const struct run *run, const struct connection *connection)
{
    const char *text = run->options.expected;
    if (connection->status / 100 != 2)
        return false;
    return text == NULL || memmem(connection->answer + connection->body_at,
                                  connection->whole_length - connection->body_at, text, strlen(text)) != NULL;
}

static void count_answer(struct run *run, const struct connection *connection)
{
    run->last_answer_at = now();
    run->requests++;
    run->by_status[connection->status]++;
    record(&run->latencies, (run->last_answer_at - connection->began) / 1000);
    if (is_expected(run, connection) || run->unexpected++ > 0)
        return;
    size_t length = connection->whole_length - connection->body_at;
    fprintf(stderr, "post: first unexpected answer: %d %.*s\n", connection->status,
            (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), connection->answer + connection->body_at);
}

static bool asks_to_close(const struct connection *connection)
{
    const char *value = header(connection, "connection");
    return value != NULL && strncasecmp(value, "close", 5) == 0;
}

static void end_with_answer(struct run *run, struct connection *connection)
{
    const char *retry_after = header(connection, "retry-after");
    bool is_overload = connection->status == 429 || connection->status == 503;
    connection->repeats = run->options.retry && is_overload && retry_after != NULL;
    if (connection->repeats) {
        connection->resume_at = now() + strtoull(retry_after, NULL, 10) * NANOSECONDS;
        run->retried += connection->is_measured;
    } else if (connection->is_measured) {
        count_answer(run, connection);
    }

    bool closes = connection->cannot_send != 0 || asks_to_close(connection);
    if (!closes && !is_all_sent(connection)) {
        connection->state = ANSWERED;
        return;
    }
    if (closes)
        close_socket(connection);
    repeat_or_start_next(run, connection);
}

static void read_answer(struct run *run, struct connection *connection)
{
    ssize_t received = receive(connection);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0) {
        int reason = received < 0 ? errno : connection->cannot_send;
        end_with_error(run, connection, reason ? strerror(reason) : "closed without an answer");
        return;
    }
    const char *fault = connection->body_at > 0 ? NULL : read_head(connection);
    bool has_head = connection->body_at > 0;
    if (fault == NULL && has_head && connection->answer_length > connection->whole_length)
        fault = "an answer that is longer than it says";
    if (fault != NULL)
        end_with_error(run, connection, fault);
    else if (has_head && connection->answer_length == connection->whole_length)
        end_with_answer(run, connection);
}

/* Nothing is to be said any more: the server can only close, and the next request then opens the connection anew. */
static void read_end(struct run *run, struct connection *connection)
{
    connection->answer_length = 0;
    ssize_t received = receive(connection);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received > 0)
        fail("the server says more than it was asked: %.*s", (int)received, connection->answer);
    close_socket(connection);
    if (connection->state == ANSWERED)
        repeat_or_start_next(run, connection);
}

static void go_on(struct run *run, struct connection *connection, uint32_t events)
{
    /* Reading goes first: who takes no more may have said why. */
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (connection->state == POSTING)
            read_answer(run, connection);
        else
            read_end(run, connection);
    }
    if (!(events & EPOLLOUT) || (connection->state != POSTING && connection->state != ANSWERED))
        return;
    send_on(connection);
    if (connection->state != ANSWERED || !(connection->cannot_send || is_all_sent(connection)))
        return;
    if (connection->cannot_send)
        close_socket(connection);
    repeat_or_start_next(run, connection);
}

/* Wake whom it is time for, and return how many milliseconds anything may be waited for. */
static int wake_paused(struct run *run)
{
    uint64_t instant = now();
    uint64_t wait = PAUSE_NANOSECONDS;
    for (int place = 0; place < run->options.connections; place++) {
        struct connection *connection = &run->connections[place];
        if (connection->state != PAUSED)
            continue;
        if (connection->resume_at <= instant)
            repeat_or_start_next(run, connection);
        else if (connection->resume_at - instant < wait)
            wait = connection->resume_at - instant;
    }
    return (int)(wait / 1000000) + 1;
}

static void begin_measuring(struct run *run)
{
    puts("{\"measuring\":true}");
    fflush(stdout);
    run->is_measuring = true;
    run->measuring_since = run->last_answer_at = now();
    run->to_start = run->options.count;
}

static void post(struct run *run)
{
    uint64_t started = now();
    if (run->options.warm_up_nanoseconds == 0)
        begin_measuring(run);
    for (int place = 0; place < run->options.connections; place++)
        start_next(run, &run->connections[place]);
    while (run->unfinished > 0 && now() < started + run->options.limit_nanoseconds) {
        struct epoll_event events[256];
        int ready = epoll_wait(run->service.poll, events, 256, wake_paused(run));
        if (ready < 0 && errno != EINTR)
            fail("epoll_wait: %s", strerror(errno));
        for (int place = 0; place < ready; place++)
            go_on(run, events[place].data.ptr, events[place].events);
        if (!run->is_measuring && now() >= started + run->options.warm_up_nanoseconds)
            begin_measuring(run);
    }
}

static uint64_t unanswered(const struct run *run)
{
    uint64_t count = run->to_start;
    for (int place = 0; place < run->options.connections; place++) {
        const struct connection *connection = &run->connections[place];
        bool is_open = connection->state == POSTING || (connection->state != FINISHED && connection->repeats);
        count += connection->is_measured && is_open;
    }
    return count;
}

static void print_report(const struct run *run)
{
    double seconds = (double)(run->last_answer_at - run->measuring_since) / (double)NANOSECONDS;
    printf("{\"requests\":%" PRIu64 ",\"by_status\":{", run->requests);
    const char *separator = "";
    for (int status = 0; status < HTTP_STATUSES; status++) {
        if (run->by_status[status] > 0) {
            printf("%s\"%d\":%" PRIu64, separator, status, run->by_status[status]);
            separator = ",";
        }
    }
    printf("},\"unexpected\":%" PRIu64 ",\"retried\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"unanswered\":%" PRIu64,
           run->unexpected, run->retried, run->errors, unanswered(run));
    printf(",\"seconds\":%.6f,\"latency_ms\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}}\n", seconds,
           milliseconds_at(&run->latencies, 0.5), milliseconds_at(&run->latencies, 0.9),
           milliseconds_at(&run->latencies, 0.99), (double)run->latencies.largest / 1e3);
}

int main(int argument_count, char **arguments)
{
    static struct run run;
    program_name = "post";
    run.options = read_options(argument_count, arguments);
    run.service = (struct service){
        .address = run.options.address,
        .request = make_request(run.options.to, run.options.path, run.options.headers, run.options.body_file, 1),
        .poll = epoll_create1(0),
    };
    if (run.service.poll < 0)
        fail("epoll_create1: %s", strerror(errno));
    run.next_number = run.options.first_number;
    run.unfinished = run.options.connections;
    run.connections = checked(calloc((size_t)run.options.connections, sizeof *run.connections));
    for (int place = 0; place < run.options.connections; place++) {
        run.connections[place].service = &run.service;
        run.connections[place].socket = -1;
    }
    post(&run);
    print_report(&run);
    return 0;
}
