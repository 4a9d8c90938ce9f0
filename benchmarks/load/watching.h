/* The command line of `streams`. */
#pragma once

#include <getopt.h>

#include "arguments.h"

struct watching {
    const char *to;
    const char *path;
    const char *body_file;
    char headers[HEADERS_BYTES];
    int streams;
    int window; /* how many are being opened at a time */
    int receive_buffer_bytes;
    int64_t stride; /* by how much the numbers on a stream go up */
    int announcers;
    const char *announce_to;
    const char *announce_path;
    const char *announce_body_file;
};

static struct watching read_watching(int argument_count, char **arguments)
{
    enum { TO, PATH, HEADER, BODY, STREAMS, WINDOW, RECEIVE_BUFFER, STRIDE, ANNOUNCERS, ANNOUNCE_TO, ANNOUNCE_PATH, ANNOUNCE_BODY };
    static const struct option known[] = {
        [TO] = {"to", required_argument, NULL, TO},
        [PATH] = {"path", required_argument, NULL, PATH},
        [HEADER] = {"header", required_argument, NULL, HEADER},
        [BODY] = {"body", required_argument, NULL, BODY},
        [STREAMS] = {"streams", required_argument, NULL, STREAMS},
        [WINDOW] = {"window", required_argument, NULL, WINDOW},
        [RECEIVE_BUFFER] = {"receive-buffer", required_argument, NULL, RECEIVE_BUFFER},
        [STRIDE] = {"stride", required_argument, NULL, STRIDE},
        [ANNOUNCERS] = {"announcers", required_argument, NULL, ANNOUNCERS},
        [ANNOUNCE_TO] = {"announce-to", required_argument, NULL, ANNOUNCE_TO},
        [ANNOUNCE_PATH] = {"announce-path", required_argument, NULL, ANNOUNCE_PATH},
        [ANNOUNCE_BODY] = {"announce-body", required_argument, NULL, ANNOUNCE_BODY},
        {0},
    };
    struct watching options = {
        .path = "/", .announce_path = "/", .streams = 1, .window = 128, .stride = 1, .announcers = 1};
    for (int found; (found = getopt_long(argument_count, arguments, "", known, NULL)) != -1;) {
        switch (found) {
        case TO:
            options.to = optarg;
            break;
        case PATH:
            options.path = optarg;
            break;
        case HEADER:
            add_header(options.headers, optarg);
            break;
        case BODY:
            options.body_file = optarg;
            break;
        case STREAMS:
            options.streams = (int)read_count("streams", optarg);
            break;
        case WINDOW:
            options.window = (int)read_count("window", optarg);
            break;
        case RECEIVE_BUFFER:
            options.receive_buffer_bytes = (int)read_count("receive-buffer", optarg);
            break;
        case STRIDE:
            options.stride = (int64_t)read_count("stride", optarg);
            break;
        case ANNOUNCERS:
            options.announcers = (int)read_count("announcers", optarg);
            break;
        case ANNOUNCE_TO:
            options.announce_to = optarg;
            break;
        case ANNOUNCE_PATH:
            options.announce_path = optarg;
            break;
        case ANNOUNCE_BODY:
            options.announce_body_file = optarg;
            break;
        default:
            exit(2); /* getopt has said what is wrong */
        }
    }
    if (optind != argument_count)
        fail("unknown argument '%s'", arguments[optind]);
    if (options.to == NULL || options.body_file == NULL)
        fail("--to and --body are needed");
    if ((options.announce_to == NULL) != (options.announce_body_file == NULL))
        fail("--announce-to and --announce-body belong together");
    if (options.streams < 1 || options.streams > 100000 || options.window < 1 || options.stride < 1)
        fail("--streams is between 1 and 100000, --window and --stride at least 1");
    if (options.announcers < 1 || options.announcers > 64)
        fail("--announcers is between 1 and 64");
    return options;
}
